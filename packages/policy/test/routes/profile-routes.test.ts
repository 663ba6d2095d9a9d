import { readFileSync } from 'node:fs'
import { type RadioProfile, ranDriverRef, type TxGate, txGateRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { PROFILE_NAME, PROFILE_PROPERTIES } from '../../src/routes/profile-routes.ts'
import { OPEN_POLICY, openWorld, PROFILES, settingsOf, type World, world } from '../support/world.ts'

const routes = suite('policy/profile-routes')

const MAST = { technology: 'lte', channel: 1400, band: 'b3', bandwidth_mhz: 10, eirp_dbm: 20 }

const put = (here: World, body: object, id = 'mast', search = '') =>
  here.call('PUT', `/v1/tx/profiles/${id}${search}`, body)
const arm = (here: World, id = 'mast') => here.call('POST', '/v1/tx/arm', { arm: true, profile_id: id })
const ids = async (here: World) =>
  ((await here.call('GET', '/v1/tx/profiles')).body.profiles as readonly { id: string }[]).map(({ id }) => id)

/** Puts `mast` on the air. */
async function onAir(): Promise<World> {
  const here = await openWorld()
  assert.is((await put(here, MAST)).status, 200)
  assert.is((await arm(here)).status, 200)
  await gateOf(here).permit('mast')
  here.transmitter.isOnAir = true
  return here
}

function gateOf(here: World): TxGate {
  return here.instance.services?.get(txGateRef.id) as TxGate
}

async function refusal(here: World, id = 'mast'): Promise<string> {
  try {
    await gateOf(here).permit(id)
    return ''
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

routes(
  'keeps a profile that is made beside those of the file, over a restart, and puts it on the air',
  async () => {
    const first = await openWorld()
    const made = await put(first, { ...MAST, channel: undefined, frequency_mhz: 1825 })
    // TS 36.101 table 5.7.3-1: 1825 MHz in band 3 is EARFCN 1200 + 10 * (1825 - 1805).
    assert.equal(
      [made.status, made.body.channel, made.body.source, made.body.closed],
      [200, 1400, 'store', []],
    )
    assert.equal(made.body.downlink, { low_mhz: 1820, high_mhz: 1830 })
    const here = await first.restart()
    assert.equal(await ids(here), [...Object.keys(PROFILES), 'mast'])
    assert.is((await arm(here)).status, 200)
    assert.is(await refusal(here), '')
    await here.close()
  },
)

routes('judges before it stores, and a dry run stores nothing', async () => {
  const here = await openWorld()
  const dry = await put(here, { ...MAST, channel: 300, band: 'b1' }, 'mast', '?dry_run=true')
  assert.equal([dry.status, (dry.body.closed as readonly { gate: string }[])[0]?.gate], [200, 'allow-list'])
  assert.equal(await ids(here), Object.keys(PROFILES))
  for (const [body, pointer] of [
    [{ ...MAST, frequency_mhz: 1825 }, '/channel'],
    [{ ...MAST, channel: undefined }, '/channel'],
    [{ ...MAST, channel: undefined, band: undefined, frequency_mhz: 1825 }, '/band'],
    [{ ...MAST, channel: undefined, frequency_mhz: 2140 }, '/frequency_mhz'],
  ] as const) {
    const answer = await put(here, body)
    assert.equal([answer.error, answer.details[0]?.pointer], ['validation_failed', pointer])
  }
  await here.close()
})

routes(
  'shows what an arm would start: of the file, of the store, of no driver and of no profile',
  async () => {
    const here = await openWorld()
    await put(here, MAST)
    const dry = (id: string) => here.call('GET', `/v1/tx/profiles/${id}/dry-run`)
    assert.equal((await dry('mast')).body, { program: null, files: [], checks: [] })
    here.fake.services.set(ranDriverRef.id, {
      rehearse: async ({ channel }: RadioProfile) => ({
        program: 'srsenb',
        files: [{ name: 'rr.conf', text: `dl_earfcn = ${channel}` }],
        checks: [{ check: 'program', problems: [] }],
      }),
    })
    const texts = await Promise.all(
      ['mast', 'b3-lab'].map(async (id) => JSON.stringify((await dry(id)).body)),
    )
    assert.equal(
      texts.map((text) => /dl_earfcn = (\d+)/.exec(text)?.[1]),
      ['1400', '1300'],
    )
    for (const id of ['nobody', 'constructor']) assert.is((await dry(id)).error, 'not_found')
    await here.close()
  },
)

routes(
  'arms no profile that lies outside the licence or the allow-list, wherever it comes from',
  async () => {
    const here = await openWorld()
    const outside = [
      { ...MAST, channel: 300, band: 'b1' },
      // The lowest channel of band 3: half of the carrier lies below it.
      { ...MAST, channel: 1200 },
      { technology: 'nr', channel: 368_500, band: 'n3', bandwidth_mhz: 10 },
    ]
    for (const body of outside) {
      assert.is((await put(here, body)).status, 200)
      const answer = await arm(here)
      assert.equal([answer.status, answer.error], [409, 'tx_gate_closed'], JSON.stringify(body))
      assert.match(await refusal(here), 'not armed')
    }
    assert.is((await put(here, MAST)).status, 200)
    await here.call('PUT', '/v1/policy', { spectrum: { license: { acknowledged: false } } })
    assert.is((await arm(here)).error, 'tx_gate_closed')
    await here.call('PUT', '/v1/policy', OPEN_POLICY)
    const limited = { ...OPEN_POLICY.spectrum.allow_list[0], max_eirp_dbm: 10 }
    await here.call('PUT', '/v1/policy', { spectrum: { allow_list: [limited] } })
    assert.is((await arm(here)).error, 'tx_gate_closed', 'more power than allowed')
    assert.is(here.transmitter.isOnAir, false)
    await here.close()
  },
)

routes('changes and removes no armed profile: it is stopped first', async () => {
  const here = await onAir()
  for (const answer of [
    await put(here, { ...MAST, eirp_dbm: 23 }),
    await put(here, MAST),
    await here.call('DELETE', '/v1/tx/profiles/mast'),
  ])
    assert.equal([answer.status, answer.error], [409, 'invalid_transition'])
  assert.is(await refusal(here), '', 'what is on air is what was armed')
  await here.call('POST', '/v1/tx/disarm')
  assert.is(here.transmitter.isOnAir, false)
  assert.is((await put(here, { ...MAST, eirp_dbm: 23 })).body.eirp_dbm, 23)
  assert.match(await refusal(here), 'not armed')
  assert.is((await here.call('DELETE', '/v1/tx/profiles/mast')).status, 204)
  assert.equal(await ids(here), Object.keys(PROFILES))
  assert.is((await arm(here)).error, 'validation_failed')
  assert.is((await here.call('DELETE', '/v1/tx/profiles/mast')).error, 'not_found')
  await here.close()
})

for (const [what, change] of Object.entries({
  'has gone from the store': (here: World) =>
    here.db.write((tx) => tx.run('delete from policy_radio_profile')),
  'is another one in the file now': async (here: World) =>
    here.fake.changeSettings(
      settingsOf('DE', { ...PROFILES, mast: { technology: 'lte', channel: 1500, bandwidth_mhz: 10 } }),
    ),
}))
  routes(`takes an armed profile off the air that ${what}`, async () => {
    const here = await onAir()
    await change(here)
    assert.is.not(await refusal(here), '', 'no start before the next look')
    await here.reconcile()
    assert.is(here.transmitter.isOnAir, false)
    assert.is((await here.call('GET', '/v1/tx/arm')).body.armed, false)
    await here.close()
  })

routes('keeps an armed one on the air while the store does not answer after a reload', async () => {
  const first = await onAir()
  const here = await first.reload()
  here.transmitter.isOnAir = true
  assert.equal((await here.reconcile()).state, 'pending')
  assert.is(here.transmitter.isOnAir, true)
  await here.close()
})

routes('leaves the profiles of the file to the file', async () => {
  const here = await openWorld()
  for (const answer of [await put(here, MAST, 'b3-lab'), await here.call('DELETE', '/v1/tx/profiles/b3-lab')])
    assert.equal([answer.status, answer.error], [409, 'settings_fixed'])
  await here.close()
  // One of that name that was made before does not count beside the file's.
  const later = await world(settingsOf('DE', {}))
  await later.call('PUT', '/v1/policy', OPEN_POLICY)
  assert.is((await put(later, MAST, 'b3-lab')).status, 200)
  later.fake.changeSettings(settingsOf('DE'))
  const [shown] = (await later.call('GET', '/v1/tx/profiles')).body.profiles as readonly object[]
  assert.equal({ ...shown, channel: 1300, source: 'file' }, shown)
  await later.close()
})

routes('stores at most 64, and takes what the configuration file takes', async () => {
  const here = await openWorld()
  for (let number = 1; number <= 64; number += 1) await put(here, MAST, `p${number}`)
  assert.is((await put(here, MAST, 'p65')).error, 'validation_failed')
  assert.is((await put(here, { ...MAST, eirp_dbm: 1 }, 'p64')).status, 200)
  await here.close()
  const file = new URL('../../../driver-ran/config.schema.json', import.meta.url)
  const { profiles } = JSON.parse(readFileSync(file, 'utf8')).properties.ran.properties
  assert.equal(PROFILE_PROPERTIES, profiles.additionalProperties.properties)
  assert.is(PROFILE_NAME, profiles.propertyNames.pattern)
})

routes.run()
