import type { Outcome, TxGate } from '@steeple/contracts'
import { transmitterRef, txGateRef } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { licenseHealth } from '../src/reconcile.ts'
import { OPEN_POLICY, openWorld, PROFILES, settingsOf, type World } from './support/world.ts'

const reconcile = suite('policy/self-disarm')
let here: World
const NO_LICENSE = { reference: null, holder: null, acknowledged_by: null, acknowledged_at: null }

reconcile.before.each(async () => {
  here = await openWorld()
  await here.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })
  await gate().permit('b3-lab')
  here.transmitter.isOnAir = true
})
reconcile.after.each(() => here.close())

const gate = (): TxGate => here.instance.services?.get(txGateRef.id) as TxGate
const pass = (): Promise<Outcome> => here.reconcile()
const ARMED: Outcome = { state: 'pending', afterMs: 4_000, reason: 'TX is armed' }
async function isArmed(): Promise<boolean> {
  return (await gate().state()).armed
}

reconcile('leaves an armed transmitter with green gates alone, and looks again within 5 s', async () => {
  assert.equal(await pass(), ARMED)
  assert.is(await isArmed(), true)
  assert.is(here.transmitter.isOnAir, true)
  assert.is(here.fake.metrics.value('svc_policy_tx_armed'), 1)
})

reconcile(
  'says two weeks before that the licence ends, and nothing of one that nobody has acknowledged',
  () => {
    const day = 86_400_000
    const at = (endMs: number | undefined, acknowledged = true) => {
      const expires_at = endMs === undefined ? null : new Date(endMs).toISOString()
      const { license } = OPEN_POLICY.spectrum
      return licenseHealth({ ...NO_LICENSE, ...license, expires_at, acknowledged }, 0)
    }
    assert.equal(
      [at(undefined), at(15 * day), at(13 * day), at(-day), at(13 * day, false)].map(({ status }) => status),
      ['ok', 'ok', 'degraded', 'degraded', 'ok'],
    )
    assert.is(at(13 * day).detail, 'the licence ends at 1970-01-14T00:00:00.000Z')
  },
)

reconcile('disarms at the very moment the license expires', async () => {
  const expires = here.fake.clock.nowMs() + 60_000
  await here.call('PUT', '/v1/policy', {
    spectrum: { license: { expires_at: new Date(expires).toISOString() } },
  })
  assert.equal(await pass(), ARMED)
  here.fake.clock.jump(expires - 1_500)
  assert.equal(await pass(), { ...ARMED, afterMs: 1_500 })
  here.fake.clock.jump(expires - 1)
  assert.is(await isArmed(), true)
  await pass()
  assert.is(here.transmitter.isOnAir, true)
  here.fake.clock.jump(expires)
  assert.equal(await pass(), { state: 'converged' })
  assert.is(await isArmed(), false)
  assert.is(here.transmitter.isOnAir, false)
})

reconcile('disarms when the license is withdrawn, with audit entry, event and error line', async () => {
  await here.call('PUT', '/v1/policy', { spectrum: { license: { acknowledged: false } } })
  assert.equal(here.fake.enqueued.at(-1), { resource: 'tx_gate', key: 'gate' })
  await pass()
  assert.is(await isArmed(), false)
  assert.is(here.transmitter.isOnAir, false)
  assert.equal(here.lifecycle, ['armed', 'disarmed'])
  const mutation = here.fake.mutations.at(-1)
  assert.is(mutation?.action, 'tx.auto_disarm')
  assert.is(mutation?.principal.kind, 'system')
  assert.is(mutation?.event.type, 'tx.auto_disarmed')
  assert.match(JSON.stringify(mutation?.detail), /no license is acknowledged/)
  assert.ok(
    here.fake.logs.some(({ level, message }) => level === 'error' && message.startsWith('TX disarmed')),
  )
  assert.is(here.fake.metrics.value('svc_policy_tx_auto_disarms_total'), 1)
  assert.is(here.fake.metrics.value('svc_policy_tx_armed'), 0)
})

reconcile('disarms when the allow-list shrinks', async () => {
  await here.call('PUT', '/v1/policy', {
    spectrum: { allow_list: [{ technology: 'lte', band: 'b3', earfcn_max: 1340, country: 'DE' }] },
  })
  await pass()
  assert.is(await isArmed(), false)
})

reconcile('disarms when the country is removed or another one', async () => {
  here.fake.changeSettings(settingsOf('FR'))
  assert.equal(here.fake.enqueued.at(-1), { resource: 'tx_gate', key: 'gate' })
  await pass()
  assert.is(await isArmed(), false)
})

reconcile('disarms when another country has the same allow-list', async () => {
  await here.call('PUT', '/v1/policy', {
    spectrum: {
      allow_list: ['DE', 'FR'].map((country) => ({ technology: 'lte', band: 'b3', country })),
    },
  })
  here.fake.changeSettings(settingsOf('FR'))
  await pass()
  assert.is(await isArmed(), false)
})

reconcile('disarms when its profile is changed', async () => {
  const changed = { technology: 'lte', channel: 1350, bandwidth_mhz: 10, eirp_dbm: 20 } as const
  here.fake.changeSettings(settingsOf('DE', { ...PROFILES, 'b3-lab': changed }))
  await pass()
  assert.is(await isArmed(), false)
})

reconcile('disarms when its profile is removed', async () => {
  here.fake.changeSettings(settingsOf('DE', {}))
  await pass()
  assert.is(await isArmed(), false)
})

reconcile('stops the transmitter before the store has taken the disarm', async () => {
  const held = Promise.withResolvers<void>()
  here.fake.changeSettings(settingsOf('LAB'))
  here.holdStore(held.promise)
  const passed = pass()
  await eventually(() => !here.transmitter.isOnAir)
  assert.is(await isArmed(), true)
  held.resolve()
  assert.is((await passed).state, 'converged')
  assert.is(await isArmed(), false)
})

reconcile('stops the transmitter at the expiry although the store does not answer', async () => {
  const expires = here.fake.clock.nowMs() + 60_000
  await here.call('PUT', '/v1/policy', {
    spectrum: { license: { expires_at: new Date(expires).toISOString() } },
  })
  await pass()
  here.db.exec('alter table policy_bundle rename to away')
  here.fake.clock.jump(expires - 1)
  assert.is((await pass()).state, 'failed')
  assert.is(here.transmitter.isOnAir, true)
  here.fake.clock.jump(expires)
  assert.is((await pass()).state, 'failed')
  assert.is(here.transmitter.isOnAir, false)
})

reconcile('stops one that was withdrawn while TX is armed', async () => {
  here.fake.services.delete(transmitterRef.id)
  await pass()
  assert.is(here.transmitter.isOnAir, false)
  assert.is(await isArmed(), true)
})

reconcile('does nothing twice', async () => {
  here.fake.changeSettings(settingsOf('LAB'))
  await pass()
  const stops = here.transmitter.stops
  const mutations = here.fake.mutations.length
  await pass()
  assert.is(here.transmitter.stops, stops)
  assert.is(here.fake.mutations.length, mutations)
})

reconcile('asks a transmitter that does not confirm again, until it does', async () => {
  here.transmitter.mode = 'fails'
  here.fake.changeSettings(settingsOf('LAB'))
  assert.is((await pass()).state, 'failed')
  assert.is(await isArmed(), false)
  assert.is((await pass()).state, 'failed')
  here.transmitter.mode = 'obeys'
  assert.is((await pass()).state, 'converged')
  assert.is(here.transmitter.isOnAir, false)
})

reconcile('stops the transmitter even when the disarm cannot be stored', async () => {
  here.failStore(true)
  here.fake.changeSettings(settingsOf('LAB'))
  assert.is((await pass()).state, 'failed')
  assert.is(here.transmitter.isOnAir, false)
  here.failStore(false)
  assert.is((await pass()).state, 'converged')
  assert.is(await isArmed(), false)
})

reconcile('stops the transmitter when the policy is corrupt', async () => {
  here.db.exec(`update policy_bundle set content = replace(content, 'b3', 'b7') where revision = 2`)
  assert.is((await pass()).state, 'failed')
  assert.is(here.transmitter.isOnAir, false)
})

reconcile.run()
