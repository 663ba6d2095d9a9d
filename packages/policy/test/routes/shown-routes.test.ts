import { assert, suite } from '@steeple/testkit'
import { OPEN_POLICY, openWorld, settingsOf, world } from '../support/world.ts'

const shown = suite('policy/shown-routes')

interface Profile {
  readonly id: string
  readonly band: string | null
  readonly downlink: object | null
  readonly uplink: object | null
  readonly armed: boolean
  readonly closed: readonly { readonly gate: string; readonly reason: string }[]
}

shown('says of each profile where its carrier lies, and what an arm of it says', async () => {
  const here = await openWorld()
  const profiles = async (): Promise<readonly Profile[]> =>
    (await here.call('GET', '/v1/tx/profiles')).body.profiles as readonly Profile[]
  const before = await profiles()
  assert.equal(
    before.map(({ id }) => id),
    ['b3-lab', 'b3-other', 'n78'],
  )
  const [lab, , n78] = before
  assert.is(lab?.band, 'b3')
  // TS 36.101 table 5.7.3-1: EARFCN 1300 is 1815 MHz, its uplink 95 MHz below.
  assert.equal(lab?.downlink, { low_mhz: 1810, high_mhz: 1820 })
  assert.equal(lab?.uplink, { low_mhz: 1715, high_mhz: 1725 })
  for (const { id, closed } of before) {
    const answer = await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: id })
    assert.is(answer.status === 200, closed.length === 0, id)
    for (const { reason } of closed) assert.match(String(answer.body.message), reason)
    await here.call('POST', '/v1/tx/disarm')
  }
  assert.equal(
    n78?.closed.map(({ gate }) => gate),
    ['allow-list'],
  )
  await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })
  assert.equal(
    (await profiles()).map(({ armed }) => armed),
    [true, false, false],
  )
  await here.close()
})

shown('shows the allow-list as frequencies, bands without a downlink too', async () => {
  const here = await world(settingsOf('DE'))
  const [entry] = OPEN_POLICY.spectrum.allow_list
  const allow_list = [
    { ...entry, earfcn_min: 1300, earfcn_max: 1400, max_eirp_dbm: 30 },
    { technology: 'nr', band: 'n80', country: 'FR' },
  ]
  const put = await here.call('PUT', '/v1/policy', { spectrum: { allow_list } })
  assert.is(put.status, 200, String(put.body.message))
  const { body } = await here.call('GET', '/v1/spectrum/ranges')
  assert.is(body.country, 'DE')
  const [first, second] = body.ranges as readonly Readonly<Record<string, unknown>>[]
  assert.equal(
    [first?.first_channel, first?.last_channel, first?.low_mhz, first?.high_mhz],
    [1300, 1400, 1815, 1825.1],
  )
  assert.equal([first?.band_low_mhz, first?.band_high_mhz, first?.max_eirp_dbm], [1805, 1880, 30])
  assert.equal([second?.country, second?.low_mhz, second?.band_high_mhz], ['FR', null, null])
  // TS 36.101 table 5.5-1, TS 38.104 table 5.2-1. A band without a downlink cannot be named.
  const bands = (body.bands as readonly Readonly<Record<string, unknown>>[]).map(
    ({ technology, band, low_mhz, high_mhz }) => `${technology} ${band} ${low_mhz}-${high_mhz}`,
  )
  for (const band of ['lte b7 2620-2690', 'nr n78 3300-3800']) assert.ok(bands.includes(band), band)
  assert.not.ok(bands.some((band) => band.startsWith('nr n80')))
  await here.close()
})

shown.run()
