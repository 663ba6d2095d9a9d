import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { assert, seededDraw, suite, testSeed } from '@steeple/testkit'
import { createLineRing, createRecentLines } from '../../src/telemetry/log-sink.ts'

const rings = suite('telemetry/log-ring')

rings('holds the last lines that fit, in their order', () => {
  const ring = createLineRing(100)
  for (let n = 0; n < 5_000; n++) ring.add(n, String(n).padStart(10, '0'))
  assert.equal(
    ring.lines().map(([order]) => order),
    [4_990, 4_991, 4_992, 4_993, 4_994, 4_995, 4_996, 4_997, 4_998, 4_999],
  )
  ring.add(5_000, 'x'.repeat(100))
  assert.equal(ring.lines(), [[5_000, 'x'.repeat(100)]])
  ring.add(5_001, 'x'.repeat(101))
  assert.is(ring.lines().length, 1, 'one that never fits pushes nothing out')
})

rings('gives lines of any length and alphabet back as they were, but for the end of very long ones', () => {
  const seed = testSeed()
  const draw = seededDraw(seed)
  const capacity = 2_000
  const longest = 300
  const ring = createLineRing(capacity)
  const added: (readonly [number, string])[] = []
  for (let n = 0; n < 3_000; n++) {
    const line = ['a', 'é', '漢', '🜁'][draw(4)]?.repeat(draw(longest / 4)) ?? ''
    ring.add(n, line)
    added.push([n, line])
    const lines = ring.lines()
    assert.equal(lines, added.slice(-lines.length), `seed ${seed}, line ${n}`)
    const next = added.at(-lines.length - 1)?.[1]
    const octets = lines.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0)
    assert.ok(octets <= capacity, `seed ${seed}, line ${n}`)
    if (next !== undefined) assert.ok(octets + Buffer.byteLength(next) > capacity, `seed ${seed}, line ${n}`)
  }
  const large = createLineRing(100_000)
  large.add(1, 'x'.repeat(20_000))
  assert.is(large.lines()[0]?.[1].length, 16_384)
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
/** Octets of texts and buffers that somebody holds. */
const inUse = (): number => {
  // The second one ends what the first has left to the background.
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

rings('keeps nothing of the text that no longer fits', () => {
  const ring = createLineRing(65_536)
  const before = inUse()
  // Fewer lines than places are moved for.
  for (let n = 0; n < 1_000; n++) ring.add(n, Buffer.alloc(16_000, n % 128).toString('latin1'))
  const grown = inUse() - before
  assert.ok(grown < 4_000_000, `${grown} octets for 64 KiB of lines`)
  assert.is(ring.lines().length, 4)
})

rings('holds no line of some MiB beyond what is kept of it, and counts that in octets', () => {
  const kept = 16_384
  const ring = createLineRing(8 * kept)
  const before = inUse()
  for (let n = 0; n < 16; n++) ring.add(n, String.fromCharCode(65 + n).repeat(4_194_304))
  const grown = inUse() - before
  // The last of them may be on the stack still.
  assert.ok(grown < 2 * 4_194_304, `${grown} octets for 128 KiB of lines`)
  assert.equal(
    ring.lines().map(([order, line]) => [order, line.length]),
    [8, 9, 10, 11, 12, 13, 14, 15].map((order) => [order, kept]),
  )
  // Three octets each: the character that would pass the end goes as a whole.
  ring.add(16, '漢'.repeat(1_000_000))
  assert.is(ring.lines().at(-1)?.[1], '漢'.repeat(5_461))
})

rings('lets many requests push out no warning', () => {
  const recent = createRecentLines()
  recent.add('urgent', 'why')
  for (let n = 0; n < 2_000; n++) recent.add('request', 'r'.repeat(1_000))
  recent.add('calm', 'after')
  const lines = recent.lines()
  assert.equal([lines[0], lines.at(-1), lines.length], ['why', 'after', 133])
})

rings.run()
