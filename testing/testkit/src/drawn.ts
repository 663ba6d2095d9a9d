import { randomInt } from 'node:crypto'

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

/**
 * How often to try what a longer run tries more often: `usual`, times what SVC_TEST_TIMES says (`npm run soak` says 10).
 */
export function rounds(usual: number): number {
  const times = Number(process.env.SVC_TEST_TIMES ?? '1')
  if (!(times > 0)) throw new Error('SVC_TEST_TIMES must be a number above 0')
  return Math.ceil(usual * times)
}

/** Whole numbers from 0 up to, not including, `below`: the same ones for the same seed, by xorshift32. The seed is not 0. */
export function seededDraw(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

/**
 * What a test draws its cases from, from 1 up to below 2^31: SVC_TEST_SEED, which repeats a run, or drawn. A test that
 * fails prints it. The CI gives one, so that it judges the change and not the draw; everybody else looks for new cases.
 * The properties of fast-check take the same one (scripts/tests/seed.mjs).
 */
export function testSeed(): number {
  const given = process.env.SVC_TEST_SEED
  if (given === undefined) return randomInt(1, 2 ** 31)
  const seed = Number(given)
  if (!(Number.isInteger(seed) && seed > 0 && seed < 2 ** 31))
    throw new Error('SVC_TEST_SEED must be a whole number from 1 up to below 2147483648')
  return seed
}

/** The place of U+10FFFF: surrogates are no characters and have none. */
export const LAST_CHARACTER: number = 0x10ffff - 0x800

/** Surrogates stand between these two. RFC 3629 §3 */
const BEFORE_SURROGATES = 0xd7ff
const SURROGATES = 0x800

/**
 * The character of Unicode at a place from 0 to `LAST_CHARACTER`.
 *
 * `fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) })` draws what
 * `fc.string({ unit: 'binary' })` does, and does not begin by filing each of a million characters: that takes a second.
 */
export function characterAt(place: number): string {
  return String.fromCodePoint(place > BEFORE_SURROGATES ? place + SURROGATES : place)
}

/** Where a character is; what is no single one is a thrown error. The way back of `characterAt`, for shrinking. */
export function placeOfCharacter(text: unknown): number {
  if (typeof text !== 'string' || !text.isWellFormed()) throw new Error('no character')
  const [first, ...more] = text
  const code = first?.codePointAt(0)
  if (code === undefined || more.length > 0) throw new Error('not one character')
  return code > BEFORE_SURROGATES ? code - SURROGATES : code
}
