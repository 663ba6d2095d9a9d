import { assert, suite } from '@steeple/testkit'
import { memoryHealth, memoryNow } from '../../src/telemetry/metrics.ts'

const memory = suite('telemetry/memory-health')
const MIB = 1_048_576

memory('says nothing while there is room, and then how much came since which plugin, gone or not', () => {
  const loaded = [
    { id: 'hog', rssBytes: 300 * MIB, isGone: true },
    { id: 'fine', rssBytes: 2_100 * MIB, isGone: false },
  ]
  assert.equal(memoryHealth({ rssBytes: 1_000 * MIB, boundBytes: 4_000 * MIB }, loaded), [])
  const [one, ...more] = memoryHealth({ rssBytes: 2_500 * MIB, boundBytes: 4_000 * MIB }, loaded)
  assert.is(more.length, 0)
  assert.is(one?.status, 'degraded')
  assert.match(
    one?.detail ?? '',
    /takes 2500 of 4000 MiB; it has grown by 2200 MiB since plugin hog was loaded, which is gone: a restart/,
  )
  assert.match(one?.detail ?? '', /by 400 MiB since plugin fine was loaded$/)
})

memory('knows what this process takes and may take', () => {
  const { rssBytes, boundBytes } = memoryNow()
  assert.ok(rssBytes > 10 * MIB && boundBytes >= rssBytes)
})

memory.run()
