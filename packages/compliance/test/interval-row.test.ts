import { assert, suite } from '@steeple/testkit'
import { intervalRow } from '../src/rows.ts'

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

test.run()
