import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { msFromTimestamp, timestampFromMs, timestampOrNull } from '../src/index.ts'

const timestamp = suite('contracts/timestamp')

timestamp('reads RFC 3339 with any zone and fraction', () => {
  assert.is(msFromTimestamp('2030-01-31T00:00:00Z'), Date.UTC(2030, 0, 31))
  assert.is(msFromTimestamp('2030-01-31t02:00:00.5+02:00'), Date.UTC(2030, 0, 31) + 500)
  assert.is(msFromTimestamp('2028-02-29T00:00:00.123456Z'), Date.UTC(2028, 1, 29) + 123)
  assert.is(msFromTimestamp('0099-12-31T00:00:00Z'), Date.parse('0099-12-31T00:00:00Z'))
})

timestamp('refuses what is no instant', () => {
  const bad = [
    '',
    'tomorrow',
    '2030-01-31',
    '2030-01-31T00:00:00',
    '2030-02-30T00:00:00Z',
    '2029-02-29T00:00:00Z',
    '2030-13-01T00:00:00Z',
    '2030-01-31T25:00:00Z',
    '2030-01-31 00:00:00Z',
    '2030-01-31T00:00:00+25:00',
    '2030-01-31T00:00:00Z\n',
  ]
  for (const text of bad) assert.is(msFromTimestamp(text), undefined, text)
})

timestamp('writes every moment as the runtime does', () => {
  for (let day = -20_000; day < 200_000; day++) {
    const ms = day * 86_400_000 + (day % 86_400) * 1_000 + (day % 1_000)
    if (timestampFromMs(ms) !== new Date(ms).toISOString())
      assert.is(timestampFromMs(ms), new Date(ms).toISOString())
  }
  for (const ms of [-1_000_000_000_000, 0, 253_402_300_799_999, 253_402_300_800_000, 300_000_000_000_000])
    assert.is(timestampFromMs(ms), new Date(ms).toISOString())
  assert.is(timestampOrNull(null), null)
})

timestamp.run()
