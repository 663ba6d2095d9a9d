import { rounds } from './rounds.ts'
import { seededDraw } from './seeded-draw.ts'
import { testSeed } from './test-seed.ts'

/**
 * Places of bits in so many octets: of each octet one that is drawn, and with SVC_TEST_TIMES as many, at most all eight
 * (`npm run soak`).
 */
export function* bitsOf(octets: number): Generator<number> {
  const draw = seededDraw(testSeed())
  for (let octet = 0; octet < octets; octet += 1) {
    const first = draw(8)
    for (let bit = 0; bit < Math.min(8, rounds(1)); bit += 1) yield octet * 8 + ((first + bit) % 8)
  }
}
