import { readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ranDriverRef, type TxGate, transmitterRef, txGateRef } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { OPEN_POLICY, openWorld, PROFILES, settingsOf, type World, world } from '../support/world.ts'

const tx = suite('policy/tx-routes')
let here: World

tx.before.each(async () => {
  here = await openWorld()
})
tx.after.each(() => here.close())

const gate = (): TxGate => here.instance.services?.get(txGateRef.id) as TxGate
const arm = (profile_id = 'b3-lab'): ReturnType<World['call']> =>
  here.call('POST', '/v1/tx/arm', { arm: true, profile_id })
const intervals = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
  here.db.all('select * from policy_tx_interval order by started_at_ms, ended_at_ms')

async function permitCode(profileId = 'b3-lab'): Promise<string> {
  try {
    await gate().permit(profileId)
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
  return 'permitted'
}

tx('arm a covered profile, move the lifecycle and open an interval', async () => {
  const answer = await arm()
  assert.is(answer.status, 200)
  assert.equal(answer.body, {
    armed: true,
    gates: { country_code: 'set', license_ack: 'set', allow_list: 'set' },
    profile: 'b3-lab',
    transmitter: 'unconfirmed',
    fallback: null,
  })
  assert.equal(here.lifecycle, ['armed'])
  assert.is(await permitCode(), 'permitted')
  const [interval] = await intervals()
  assert.is(interval?.license_reference, 'BNetzA-1')
  assert.is(interval?.country, 'DE')
  assert.is(interval?.started_by, 'token:tok-1/alice')
  assert.is(interval?.ended_at_ms, null)
  assert.equal(JSON.parse(String(interval?.profile)), PROFILES['b3-lab'])
})

tx('arm once: the same profile again changes nothing', async () => {
  await arm()
  assert.is((await arm()).status, 200)
  assert.equal(here.lifecycle, ['armed'])
  assert.is((await intervals()).length, 1)
})

tx('name each missing gate when they refuse', async () => {
  const lab = await world(settingsOf('LAB'))
  for (const profile_id of ['any', '', undefined]) {
    const unknown = await lab.call('POST', '/v1/tx/arm', { arm: true, profile_id })
    assert.is(unknown.error, 'tx_gate_closed', 'gates come first')
  }
  const answer = await lab.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })
  assert.is(answer.error, 'tx_gate_closed')
  assert.equal(
    answer.details.map(({ pointer }) => pointer),
    ['/gates/country_code', '/gates/license_ack', '/gates/allow_list'],
  )
  for (const name of ['country-code', 'license', 'allow-list'])
    assert.match(String(answer.body.message), name)
  assert.equal((await lab.call('GET', '/v1/tx/arm')).body, {
    armed: false,
    gates: { country_code: 'missing', license_ack: 'missing', allow_list: 'missing' },
    profile: null,
    transmitter: 'unconfirmed',
    fallback: null,
  })
  await lab.close()
})

tx('refuse a profile that is not configured, or missing from the body', async () => {
  for (const body of [
    { arm: true, profile_id: 'nope' },
    { arm: true, profile_id: 'toString' },
    { arm: true },
  ]) {
    const answer = await here.call('POST', '/v1/tx/arm', body)
    assert.is(answer.error, 'validation_failed')
    assert.equal(
      answer.details.map(({ pointer }) => pointer),
      ['/profile_id'],
    )
  }
})

tx('refuse a profile that the radio can never send, with its reason', async () => {
  here.fake.services.set(ranDriverRef.id, { problems: () => ['channel 66446 lies in b66'] })
  const answer = await arm()
  assert.equal([answer.error, (await gate().state()).armed], ['validation_failed', false])
  assert.match(String(answer.body.message), /the radio cannot send profile b3-lab: channel 66446 lies in b66/)
})

tx('name the missing gates on a box without profiles', async () => {
  const bare = await world(settingsOf('DE', {}))
  const answer = await bare.call('POST', '/v1/tx/arm', { arm: true, profile_id: 'b3-lab' })
  await bare.close()
  assert.is(answer.error, 'tx_gate_closed')
})

tx('refuse a profile that the allow-list does not cover', async () => {
  const answer = await arm('n78')
  assert.is(answer.error, 'tx_gate_closed')
  assert.match(String(answer.body.message), /NR-ARFCN 630000/)
})

tx('arm another profile only after a disarm', async () => {
  await arm()
  assert.is((await arm('b3-other')).error, 'invalid_transition')
  assert.is(await permitCode('b3-other'), 'tx_not_armed')
  await here.call('POST', '/v1/tx/disarm')
  assert.is((await arm('b3-other')).status, 200)
  assert.is(await permitCode('b3-other'), 'permitted')
})

tx('stop the transmitter before a disarm is answered', async () => {
  await arm()
  here.transmitter.isOnAir = true
  const answer = await here.call('POST', '/v1/tx/disarm')
  assert.is(answer.status, 200)
  assert.is(answer.body.armed, false)
  assert.is(here.transmitter.isOnAir, false)
  assert.equal(here.lifecycle, ['armed', 'disarmed'])
  assert.is(await permitCode(), 'tx_not_armed')
  const [interval] = await intervals()
  assert.is(interval?.end_reason, 'disarmed')
  assert.is(interval?.ended_by, 'token:tok-1/alice')
})

tx('disarm with arm: false as well, without a profile', async () => {
  await arm()
  const answer = await here.call('POST', '/v1/tx/arm', { arm: false })
  assert.is(answer.status, 200)
  assert.is(answer.body.armed, false)
  assert.is(here.fake.mutations.at(-1)?.event.type, 'tx.disarm')
})

tx('disarm twice without a second interval or lifecycle move', async () => {
  await arm()
  await here.call('POST', '/v1/tx/disarm')
  assert.is((await here.call('POST', '/v1/tx/disarm')).status, 200)
  assert.equal(here.lifecycle, ['armed', 'disarmed'])
  assert.is((await intervals()).length, 1)
})

tx('say 503 when the transmitter does not confirm, and stay disarmed', async () => {
  await arm()
  here.transmitter.isOnAir = true
  here.transmitter.mode = 'fails'
  const answer = await here.call('POST', '/v1/tx/disarm')
  assert.is(answer.error, 'southbound_unavailable')
  assert.match(String(answer.body.message), /may still be on air/)
  assert.is((await gate().state()).transmitter, 'unconfirmed')
  assert.is((await arm()).error, 'invalid_transition')
  assert.is((await gate().state()).armed, false)
  const ill = await here.instance.health?.()
  assert.is(ill?.find(({ name }) => name === 'tx-gate')?.status, 'down')
  assert.is((await here.reconcile()).state, 'failed')
  here.transmitter.mode = 'obeys'
  assert.is((await here.reconcile()).state, 'converged')
  assert.is(here.transmitter.isOnAir, false)
  assert.is((await gate().state()).transmitter, 'off')
  const well = await here.instance.health?.()
  assert.is(well?.find(({ name }) => name === 'tx-gate')?.status, 'ok')
})

tx('take the transmitter off air even when the store does not take the disarm', async () => {
  await arm()
  here.transmitter.isOnAir = true
  here.failStore(true)
  assert.is((await here.call('POST', '/v1/tx/disarm')).error, 'store_unavailable')
  assert.is(here.transmitter.isOnAir, false)
  assert.is(await permitCode(), 'tx_gate_closed')
  assert.is((await here.reconcile()).state, 'failed')
  here.failStore(false)
  assert.is((await arm()).error, 'invalid_transition')
  await here.reconcile()
  assert.is((await gate().state()).armed, false)
  assert.is((await arm()).status, 200)
})

tx('do not wait for the store: the transmitter is off while the record is still on its way', async () => {
  await arm()
  await gate().permit('b3-lab')
  here.transmitter.isOnAir = true
  const held = Promise.withResolvers<void>()
  here.holdStore(held.promise)
  const answer = here.call('POST', '/v1/tx/disarm')
  assert.is(here.transmitter.isOnAir, false)
  await eventually(async () => (await gate().state()).transmitter === 'off')
  assert.is((await gate().state()).armed, true)
  assert.is(await permitCode(), 'tx_gate_closed')
  held.resolve()
  assert.equal([(await answer).status, (await answer).body.armed], [200, false])
  assert.is((await answer).body.transmitter, 'off')
})

tx(
  'keep a disarm over a crash while the store has not taken it, and say within a second that it has not',
  async () => {
    await arm()
    await gate().permit('b3-lab')
    here.transmitter.isOnAir = true
    here.holdStore(new Promise(() => undefined))
    const answer = here.call('POST', '/v1/tx/disarm')
    assert.is(here.transmitter.isOnAir, false)
    await eventually(async () =>
      assert.match(await readFile(join(here.dataDir, 'tx-disarm.json'), 'utf8'), /"by":"token:tok-1/),
    )
    const next = await here.restart()
    assert.is((await answer).error, 'store_unavailable')
    assert.match(
      String((await answer).body.message),
      /has not taken it within 1000 ms.*a restart before that/,
    )
    here = next
    assert.equal([(await gate().state()).armed, await permitCode()], [true, 'tx_gate_closed'])
    await here.reconcile()
    assert.is((await gate().state()).armed, false)
  },
)

tx('stay off after a gate was red, though it is green again before the store has the disarm', async () => {
  await arm()
  await gate().permit('b3-lab')
  here.failStore(true)
  here.fake.changeSettings({ ...settingsOf('FR'), server: { country: 'FR', data_dir: here.dataDir } })
  assert.is((await here.reconcile()).state, 'failed')
  here.fake.changeSettings({ ...settingsOf('DE'), server: { country: 'DE', data_dir: here.dataDir } })
  assert.is(await permitCode(), 'tx_gate_closed')
  here = await here.restart()
  assert.is(await permitCode(), 'tx_gate_closed')
  await here.reconcile()
  assert.is((await gate().state()).armed, false)
})

tx('obey a note that somebody writes beside the service', async () => {
  await arm()
  assert.is(await permitCode(), 'permitted')
  const write = (): Promise<void> =>
    writeFile(
      join(here.dataDir, 'tx-disarm.json'),
      JSON.stringify({ intervalId: null, by: 'local:root' }).padEnd(2_048),
    )
  await write()
  assert.is((await arm()).error, 'invalid_transition')
  assert.is(await permitCode(), 'tx_gate_closed')
  await here.reconcile()
  const [interval] = await intervals()
  assert.equal([(await gate().state()).armed, interval?.ended_by], [false, 'local:root'])
  await write()
  assert.is((await arm()).status, 200, 'what was noted while nothing was armed means no arm after it')
  here = await here.restart()
  assert.is(await permitCode(), 'permitted')
})

tx('say what is stored and what is not on a full disk, and keep the disarm over a restart', async () => {
  await arm()
  here.transmitter.isOnAir = true
  here.failStore(true)
  const at = here.fake.clock.nowMs()
  const answer = await here.call('POST', '/v1/tx/disarm')
  assert.is(answer.error, 'store_unavailable')
  assert.match(
    String(answer.body.message),
    /the transmitter is off, but the disarm is not in the store: disk full.*a restart before that does not put it on air/,
  )
  here = await here.restart()
  assert.is((await gate().state()).armed, true)
  assert.is(await permitCode(), 'tx_gate_closed')
  await here.fake.clock.advance(60_000)
  await here.reconcile()
  assert.is((await gate().state()).armed, false)
  const [interval] = await intervals()
  assert.equal([interval?.ended_at_ms, interval?.ended_by], [at, 'token:tok-1/alice'])
  assert.match(String(interval?.end_reason), /alice has disarmed TX at .*, which the store did not have yet/)
  await eventually(async () =>
    assert.is((await readFile(join(here.dataDir, 'tx-disarm.json'), 'utf8')).trim(), ''),
  )
  here = await here.restart()
  assert.is((await arm()).status, 200)
  assert.is(await permitCode(), 'permitted')
})

tx('say that a restart would undo a disarm that could not even be noted', async () => {
  await arm()
  // In one step: its room may be being taken right now.
  await symlink('nowhere', join(here.dataDir, 'link'))
  await rename(join(here.dataDir, 'link'), join(here.dataDir, 'tx-disarm.json'))
  here.failStore(true)
  const answer = await here.call('POST', '/v1/tx/disarm')
  assert.is(answer.error, 'store_unavailable')
  assert.match(String(answer.body.message), /do not restart the service before that/)
})

tx('hold a transmitter over a reload of the gate, and a disarm that the store did not take', async () => {
  await arm()
  await gate().permit('b3-lab')
  here.transmitter.isOnAir = true
  here.transmitter.mode = 'fails'
  here = await here.reload()
  assert.is((await gate().state()).transmitter, 'on')
  here.fake.services.delete(transmitterRef.id)
  here.failStore(true)
  const answer = await here.call('POST', '/v1/tx/disarm')
  assert.is(answer.error, 'southbound_unavailable')
  assert.match(String(answer.body.message), /may still be on air.*The record: the disarm is not in the store/)
  here = await here.reload()
  here.fake.services.delete(transmitterRef.id)
  assert.is((await gate().state()).transmitter, 'unconfirmed')
  assert.is(await permitCode(), 'tx_gate_closed')
  here.transmitter.mode = 'obeys'
  await here.reconcile()
  assert.is(here.transmitter.isOnAir, false)
  assert.equal([(await gate().state()).transmitter, (await gate().state()).armed], ['off', false])
})

tx('permit nothing from the moment that the service ends, and stop what is on', async () => {
  await arm()
  await gate().permit('b3-lab')
  here.transmitter.isOnAir = true
  const quiet = here.instance.quiesce?.('shutdown')
  assert.is(here.transmitter.isOnAir, false)
  await quiet
  assert.is(await permitCode(), 'tx_gate_closed')
  assert.is((await gate().state()).armed, true)
})

tx('permit nothing that was asked for before a stop', async () => {
  await arm()
  const early = permitCode()
  const answer = await here.call('POST', '/v1/tx/disarm')
  assert.is(answer.status, 200)
  assert.is.not(await early, 'permitted')
})

tx('stay armed over a restart, after the gates were looked at again', async () => {
  await arm()
  here = await here.restart()
  assert.is((await gate().state()).profile, 'b3-lab')
  assert.is(await permitCode(), 'permitted')
  here = await here.restart(settingsOf('LAB'))
  assert.is(await permitCode(), 'tx_gate_closed')
  await here.reconcile()
  assert.is((await gate().state()).armed, false)
})

tx('start another interval when the license is another', async () => {
  await arm()
  await here.fake.clock.advance(1_000)
  await here.call('PUT', '/v1/policy', { spectrum: { license: { reference: 'BNetzA-2' } } })
  assert.is((await gate().state()).armed, true)
  const all = await intervals()
  assert.equal(
    all.map((each) => each.license_reference),
    ['BNetzA-1', 'BNetzA-2'],
  )
  assert.equal(
    all.map((each) => each.ended_at_ms === null),
    [false, true],
  )
  await here.call('PUT', '/v1/policy', OPEN_POLICY)
  assert.is((await intervals()).length, 3)
})

tx('let a driver ask about a carrier', async () => {
  await gate().permitCarrier({ technology: 'lte', channel: 1300, bandwidthMhz: 10, eirpDbm: 10 })
  let code: unknown
  try {
    await gate().permitCarrier({ technology: 'lte', channel: 100, bandwidthMhz: 10 })
  } catch (error) {
    code = (error as { code?: unknown }).code
  }
  assert.is(code, 'tx_gate_closed')
})

tx.run()
