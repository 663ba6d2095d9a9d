import { assert, suite } from '@steeple/testkit'
import { intervalRow } from '../src/routes/export-route.ts'

const test = suite('a TX interval in a file')

test('has profile, channel, power, license and who armed and disarmed', () => {
  const row = intervalRow({
    id: 'x',
    profileId: 'hill',
    profile: {
      technology: 'lte',
      channel: 1300,
      band: 'b3',
      bandwidth_mhz: 10,
      eirp_dbm: 27,
      tx_gain_db: 60,
    },
    country: 'DE',
    licenseReference: 'BNetzA 1/2',
    licenseHolder: 'Dorf e.V.',
    startedAtMs: 0,
    startedBy: 'user:u-1/ann',
    endedAtMs: 1_000,
    endedBy: 'system:tx',
    endReason: 'the license has expired',
  })
  assert.equal(row, {
    kind: 'tx',
    id: 'x',
    at: '1970-01-01T00:00:00.000Z',
    until: '1970-01-01T00:00:01.000Z',
    reason: 'the license has expired',
    by: 'user:u-1/ann',
    profile: 'hill',
    technology: 'lte',
    band: 'b3',
    channel: 1300,
    bandwidth_mhz: 10,
    eirp_dbm: 27,
    country: 'DE',
    license_reference: 'BNetzA 1/2',
    license_holder: 'Dorf e.V.',
    detail: '{"ended_by":"system:tx","tx_gain_db":60}',
  })
})

test('names the band of a channel that is of one band alone', () => {
  const bandOf = (technology: 'lte' | 'nr', channel: number) =>
    intervalRow({
      id: 'x',
      profileId: 'hill',
      profile: { technology, channel, bandwidth_mhz: 5 },
      country: 'DE',
      licenseReference: null,
      licenseHolder: null,
      startedAtMs: 0,
      startedBy: 'user:u-1/ann',
      endedAtMs: null,
      endedBy: null,
      endReason: null,
    }).band
  // TS 36.101 table 5.7.3-1: an EARFCN is of one band. TS 38.104 table 5.4.2.3-1: 632628 lies in n48, n77 and n78.
  assert.equal([bandOf('lte', 3350), bandOf('nr', 632_628), bandOf('lte', 262_000)], ['b7', null, null])
})

test.run()
