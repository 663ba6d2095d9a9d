import { desiredNewsRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { documentText, type SignedDocument, signed } from '../src/document.ts'
import { plugin } from '../src/plugin.ts'
import type { State } from '../src/state.ts'
import { type Box, serviceOf, world } from './support/world.ts'

const order = suite('groups/order', { limitMs: 120_000 })

const CLOSED = {
  gates: { country_code: 'missing', license_ack: 'missing', allow_list: 'missing' },
  armed: false,
}

/** A document of the hub for a box, as the hub would sign it. */
function issued(hub: Box, box: Box, version: number, state: State, more: object = {}): SignedDocument {
  const text = documentText({
    ...{ hub: hub.id, node: box.id, version, issued_at: '2026-06-15T12:00:00.000Z', groups: ['all'], state },
    ...more,
  })
  return signed(hub.identity, text)
}

/** A value of its own for each version. */
function stateOf(version: number): State {
  return { policy: { retention_days: { metrics: version } } }
}

/** The box gets that document, and has done with it. */
async function deliver(box: Box, given: object, version: number): Promise<void> {
  box.given = given
  await serviceOf(box.bed, desiredNewsRef).heard(version)
  await box.bed.settled()
}

async function applied(box: Box): Promise<number> {
  const { retention_days: days } = await box.ask<{ retention_days: { metrics: number } }>('GET', '/v1/policy')
  return days.metrics
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('deliver' as const), of: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose' as const), of: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
)

order(
  'whatever comes in whatever order, what is applied is the newest that came, and never an older one',
  async () => {
    await using all = await world(1)
    const { hub } = all
    const [box] = all.boxes as [Box]
    await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
    let base = 0
    let newest = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        base += 10
        for (const one of steps) {
          if (one.kind === 'restart') {
            await box.ask('POST', '/v1/plugins/groups/reload')
            continue
          }
          const version = base + one.of
          const before = box.given
          box.isReachable = one.kind === 'deliver'
          await deliver(box, issued(hub, box, version, stateOf(version)), version)
          // It comes no more, however often the box asks again.
          if (one.kind === 'lose') box.given = before
          box.isReachable = true
          if (one.kind === 'deliver') newest = Math.max(newest, version)
          if (newest > 0) assert.is(await applied(box), newest)
        }
      }),
      { numRuns: 15, endOnFailure: true },
    )
    assert.ok(newest > 10)
  },
)

order(
  'nothing of a document is applied that another has signed, changed, or made for another box',
  async () => {
    await using all = await world(2)
    await using others = await world(0)
    const { hub } = all
    const [box, other] = all.boxes as [Box, Box]
    await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
    await deliver(box, issued(hub, box, 5, stateOf(5)), 5)
    assert.is(await applied(box), 5)
    const good = issued(hub, box, 6, stateOf(6))
    const changed = { ...good, document: good.document.replace('"metrics":6', '"metrics":7') }
    assert.is.not(changed.document, good.document)
    const flipped = Buffer.from(good.signature, 'base64')
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1
    const { document: text } = good
    const forged: Readonly<Record<string, object>> = {
      'a changed value': changed,
      'a changed signature': { ...good, signature: flipped.toString('base64') },
      'no signature': { ...good, signature: '' },
      'a document of another box': issued(hub, other, 6, stateOf(6)),
      'the signature of another member': signed(other.identity, text),
      'the signature of another mesh': signed(others.hub.identity, text),
      'another hub in it': issued(hub, box, 6, stateOf(6), { hub: others.hub.id }),
      'a version that is none': issued(hub, box, 6.5, stateOf(6)),
      'a part that there is not': issued(hub, box, 6, { settings: {} } as State),
      'something else': { document: 7 },
    }
    for (const [what, given] of Object.entries(forged)) {
      box.given = given
      await serviceOf(box.bed, desiredNewsRef).heard(6)
      // It is asked for again, so that nothing settles: what counts is what is kept.
      await box.ask('POST', '/v1/plugins/groups/reload')
      const { version } = await box.ask<{ version: number }>('GET', '/v1/steering')
      assert.equal([version, await applied(box)], [5, 5], what)
    }
    await deliver(box, good, 6)
    assert.is(await applied(box), 6)
    await deliver(box, issued(hub, box, 6, stateOf(60)), 6)
    assert.is(await applied(box), 6, 'another document of the same version')
  },
)

order('a hub in the hands of a thief opens no layer of the gate', async () => {
  await using all = await world(1)
  const { hub } = all
  const [box] = all.boxes as [Box]
  const permitted = ['policy', 'plugins', 'alert_rules', 'radio_profiles', 'users']
  await box.ask('PUT', '/v1/steering', { permitted })
  const spectrum = {
    license: { acknowledged: true, reference: 'x', holder: 'x', expires_at: '2099-01-01T00:00:00.000Z' },
    allow_list: [{ technology: 'lte', band: 'b3', country: 'DE' }],
  }
  const state: State = {
    policy: { sim_swap_cooldown_hours: 1, spectrum },
    alert_rules: { rules: [], 'server.country': 'DE' },
    radio_profiles: {
      '../arm': { arm: true, profile_id: 'mast' },
      mast: { technology: 'lte', channel: 1575, bandwidth_mhz: 10 },
    },
    users: { thief: { roles: ['admin'] } },
    plugins: { mesh: { enabled: false } },
  }
  await deliver(box, issued(hub, box, 1, state), 1)
  const { parts } = await box.ask<{ parts: { part: string; status: string }[] }>('GET', '/v1/steering')
  assert.equal(
    parts.filter(({ status }) => status === 'applied').map(({ part }) => part),
    [],
    JSON.stringify(parts),
  )
  const arm = await box.ask<{ armed: boolean; gates: object }>('GET', '/v1/tx/arm')
  assert.equal({ gates: arm.gates, armed: arm.armed }, CLOSED)
  const policy = await box.ask<{ sim_swap_cooldown_hours: number; spectrum: { allow_list: object[] } }>(
    'GET',
    '/v1/policy',
  )
  assert.equal(
    [policy.sim_swap_cooldown_hours, policy.spectrum.allow_list],
    [24, []],
    'a part with what no hub sets is no part',
  )
})

order(
  'after a restore of an older backup the later document stays, and that of another hub goes',
  async () => {
    await using all = await world(2)
    await using strangers = await world(1)
    const { hub } = all
    const [restored, present] = all.boxes as [Box, Box]
    const [stranger] = strangers.boxes as [Box]
    for (const box of [restored, present, stranger])
      await box.ask('PUT', '/v1/steering', { permitted: ['policy'] })
    await deliver(restored, issued(hub, restored, 5, stateOf(5)), 5)
    await deliver(present, issued(hub, present, 7, stateOf(7)), 7)
    await deliver(stranger, issued(strangers.hub, stranger, 9, stateOf(9)), 9)
    const restore = (before: Box) =>
      restored.db.write(async (tx) => {
        const store = { db: before.db, reseal: () => undefined }
        await plugin.restored?.(tx, { takenAtMs: 0, nowMs: 0, present: store, close: () => undefined })
      })
    const version = async () => (await restored.ask('GET', '/v1/steering')).version
    await restore(stranger)
    assert.is(await version(), 5, 'a document of another hub came over')
    await restore(present)
    assert.is(await version(), 7)
  },
)

order.run()
