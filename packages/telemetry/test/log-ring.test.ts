import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { assert, suite } from '@steeple/testkit'
import { createLineRing, createRecentLines } from '../src/log-ring.ts'

const rings = suite('telemetry/log-ring')

rings('holds the last lines that fit, in their order', () => {
  const ring = createLineRing(100)
  for (let n = 0; n < 5_000; n++) ring.add(n, String(n).padStart(10, '0'))
  assert.equal(
    ring.lines().map(([order]) => order),
    [4_990, 4_991, 4_992, 4_993, 4_994, 4_995, 4_996, 4_997, 4_998, 4_999],
  )
  ring.add(5_000, 'x'.repeat(95))
  assert.equal(ring.lines(), [[5_000, 'x'.repeat(95)]])
})

rings('keeps nothing of the text that no longer fits', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const ring = createLineRing(65_536)
  collect()
  const before = process.memoryUsage().heapUsed
  // Fewer lines than places are moved for.
  for (let n = 0; n < 1_000; n++) ring.add(n, Buffer.alloc(16_000, n).toString('latin1'))
  collect()
  const grown = process.memoryUsage().heapUsed - before
  assert.ok(grown < 4_000_000, `${grown} octets for 64 KiB of lines`)
  assert.is(ring.lines().length, 4)
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
