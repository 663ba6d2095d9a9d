import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { msFromTimestamp, timestampFromMs } from '../../src/bundle/timestamp.ts'

const timestamp = suite('policy/timestamp')

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

timestamp('reads back what it writes', async () => {
  const range = { min: Date.UTC(1970, 0, 1), max: Date.UTC(9999, 11, 31) }
  await fc.assert(fc.property(fc.integer(range), (ms) => assert.is(msFromTimestamp(timestampFromMs(ms)), ms)))
})

timestamp.run()
