import { introspectionRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { degradedReason } from '../src/degraded.ts'
import { nodeRecord } from '../src/node-routes.ts'
import { HEARTBEATS, NODES } from '../src/node-store.ts'
import { ensureOwnNode } from '../src/plugin.ts'
import { allComponents, overallStatus } from '../src/service-routes.ts'
import { sentAtMs, type TelemetryBody } from '../src/telemetry-request.ts'
import { groupedWrites, takeHeartbeat } from '../src/telemetry-routes.ts'
import {
  codeOf,
  component,
  nodesWorld,
  OTHER_ID,
  OWN_ID,
  principal,
  storedNode,
  type World,
} from './helpers.ts'

const telemetry = suite('nodes/telemetry')
const AGENT = principal('node', OTHER_ID, 'node')
const OPERATOR = principal('token', 't', 'operator')

async function setting(): Promise<World> {
  const world = nodesWorld()
  await ensureOwnNode(world.fake.context)
  await storedNode(world.db, { node_id: OTHER_ID })
  return world
}

function heartbeat(world: World, seq: number, over: Partial<TelemetryBody> = {}): TelemetryBody {
  return {
    node_id: OTHER_ID,
    at: new Date(world.clock.nowMs()).toISOString(),
    seq,
    components: [{ name: 'enb', status: 'ok' }],
    ...over,
  }
}

async function agents(world: World): Promise<readonly (readonly unknown[])[]> {
  const all = await allComponents(world.fake.context)
  return all.map(({ name, status, detail }) => [name.replace(`node/${OTHER_ID}`, 'n'), status, detail])
}

telemetry('shows the heartbeat with the name of its box, and what it reported that is not well', async () => {
  const world = await setting()
  assert.is(await takeHeartbeat(world.fake.context, heartbeat(world, 1), AGENT), 'changed')
  assert.equal(await agents(world), [['n', 'ok', 'another box: heartbeats come; 1 part is well']])
  const components = [
    { name: 'enb', status: 'ok' },
    { name: 'hss', status: 'ok' },
    { name: 'core', status: 'degraded', detail: 'slow' },
  ] as const
  await takeHeartbeat(world.fake.context, heartbeat(world, 2, { components }), AGENT)
  assert.equal(await agents(world), [
    ['n', 'ok', 'another box: heartbeats come; 2 parts are well'],
    ['n/core', 'degraded', 'slow'],
  ])
})

telemetry('keeps nothing of what no log line would show', async () => {
  const world = await setting()
  const { context } = world.fake
  const scrub = (text: string): string => text.replaceAll('001010123456789', '[imsi]')
  const looking = {
    ...context,
    maybe: (ref: { readonly id: string }) =>
      ref.id === introspectionRef.id ? { scrub } : context.maybe(ref as never),
  } as typeof context
  const components = [{ name: 'enb', status: 'down', detail: 'no answer of 001010123456789' }] as const
  await takeHeartbeat(looking, heartbeat(world, 1, { components }), AGENT)
  assert.equal((await agents(world))[1], ['n/enb', 'down', 'no answer of [imsi]'])
})

telemetry('accepts and ignores an older or equal seq', async () => {
  const world = await setting()
  const { context } = world.fake
  await takeHeartbeat(context, heartbeat(world, 5), AGENT)
  const late = heartbeat(world, 5, { components: [{ name: 'enb', status: 'down' }] })
  assert.is(await takeHeartbeat(context, late, AGENT), 'ignored')
  assert.is(await takeHeartbeat(context, { ...late, seq: 4 }, AGENT), 'ignored')
  assert.is(await degradedReason(context, OTHER_ID), undefined)
})

telemetry('shows another node as it says that it is, and as this one until it says something', async () => {
  const world = await setting()
  const { context } = world.fake
  const shown = async (nodeId: string) => {
    const row = await NODES.find(world.db, { node_id: nodeId })
    assert.ok(row)
    const own = { report: async () => ({ lifecycle: 'register', plmn: '999-70', on_air: false }) as const }
    const record = (await nodeRecord(context, own, row)) as Record<string, unknown>
    const { state, lifecycle, plmn, version, on_air } = record
    return [state, lifecycle, plmn, version, on_air]
  }
  const { mcc, mnc } = context.settings.plmn
  assert.equal(await shown(OTHER_ID), ['registered', 'register', `${mcc}-${mnc}`, null, null])
  const node = { lifecycle: 'on_air' as const, plmn: '310-410', on_air: true }
  const versions = { svc: '9.9.9' }
  assert.is(await takeHeartbeat(context, heartbeat(world, 1, { node, versions }), AGENT), 'changed')
  assert.equal(await shown(OTHER_ID), ['on-air', 'on-air', '310-410', '9.9.9', true])
  assert.is(await takeHeartbeat(context, heartbeat(world, 2, { node, versions }), AGENT), 'same')
  const off = { ...node, lifecycle: 'register' as const, on_air: false }
  assert.is(await takeHeartbeat(context, heartbeat(world, 3, { node: off }), AGENT), 'changed')
  assert.equal(await shown(OTHER_ID), ['registered', 'register', '310-410', null, false])
  const own = heartbeat(world, 1, { node_id: OWN_ID, node })
  await takeHeartbeat(context, own, OPERATOR)
  assert.equal(
    (await shown(OWN_ID)).slice(0, 2),
    ['bootstrap', 'provision'],
    'nobody moves this node by a word',
  )
})

telemetry('shows what another node tells of its radio, phones, SIMs, octets, outages and clock', async () => {
  const world = await setting()
  const { context } = world.fake
  const outage = { kind: 'no_radio', severity: 'critical', title: 'No radio', since: '2026-01-01T00:00:00Z' }
  const node = {
    ...{ lifecycle: 'on_air' as const, plmn: '310-410', on_air: true, radio_connected: false },
    ...{ channel: 'lte 1575', phones: 3, sims: 20, octets_today: 5_000_000_000, backlog: 2 },
    incidents: [outage],
  }
  const at = new Date(context.clock.nowMs() + 2_500).toISOString()
  await takeHeartbeat(context, heartbeat(world, 1, { node, at }), AGENT)
  const row = await NODES.find(world.db, { node_id: OTHER_ID })
  assert.ok(row)
  const nobody = { report: () => Promise.reject(new Error('it is not asked of another node')) }
  const record = (await nodeRecord(context, nobody, row)) as Record<string, unknown>
  const { lifecycle: _, plmn: __, on_air: ___, ...facts } = node
  for (const [name, value] of Object.entries({ ...facts, clock_offset_s: 2.5 }))
    assert.equal(record[name], value, name)
})

telemetry('takes it from the node itself or an operator, for a node that exists', async () => {
  const world = await setting()
  const { context } = world.fake
  const stranger = principal('node', OWN_ID, 'node')
  assert.is(await codeOf(takeHeartbeat(context, heartbeat(world, 1), stranger)), 'forbidden')
  assert.is(await codeOf(takeHeartbeat(context, heartbeat(world, 1), OPERATOR)), 'none')
  const unknown = heartbeat(world, 1, { node_id: 'nobody' })
  assert.is(await codeOf(takeHeartbeat(context, unknown, OPERATOR)), 'node_not_found')
})

telemetry('refuses an unknown node without ending the writes that share its commit', async () => {
  const world = await setting()
  const { context } = world.fake
  const write = groupedWrites(world.db)
  const unknown = heartbeat(world, 1, { node_id: 'nobody' })
  const outcomes = await Promise.all([
    codeOf(takeHeartbeat(context, unknown, OPERATOR, write)),
    codeOf(takeHeartbeat(context, heartbeat(world, 1), AGENT, write)),
  ])
  assert.equal(outcomes, ['node_not_found', 'none'])
  assert.is((await HEARTBEATS.find(world.db, { node_id: OTHER_ID }))?.seq, 1)
  assert.is(await HEARTBEATS.find(world.db, { node_id: 'nobody' }), undefined)
})

telemetry('makes a node degraded after three intervals of silence, until the next heartbeat', async () => {
  const world = await setting()
  const { context } = world.fake
  await takeHeartbeat(context, heartbeat(world, 1), AGENT)
  await world.clock.advance(45_000)
  assert.is(await degradedReason(context, OTHER_ID), undefined)
  await world.clock.advance(1)
  assert.is(await degradedReason(context, OTHER_ID), 'no heartbeat')
  assert.equal((await agents(world))[0], ['n', 'down', 'another box: no heartbeat for 45 s'])
  await takeHeartbeat(context, heartbeat(world, 2), AGENT)
  assert.is(await degradedReason(context, OTHER_ID), undefined)
})

telemetry('makes a node degraded while its agent reports a component as down', async () => {
  const world = await setting()
  const { context } = world.fake
  await takeHeartbeat(context, heartbeat(world, 1, { components: [{ name: 'enb', status: 'down' }] }), AGENT)
  assert.is(await degradedReason(context, OTHER_ID), 'down: enb')
})

telemetry('keeps since when a component is what it is and when it was last well', async () => {
  const world = await setting()
  const { context } = world.fake
  const startMs = world.clock.nowMs()
  await takeHeartbeat(context, heartbeat(world, 1), AGENT)
  await world.clock.advance(15_000)
  const ill = { components: [{ name: 'enb', status: 'degraded', detail: 'few phones' }] } as const
  await takeHeartbeat(context, heartbeat(world, 2, ill), AGENT)
  await world.clock.advance(15_000)
  await takeHeartbeat(context, heartbeat(world, 3, ill), AGENT)
  const [beat, enb] = await allComponents(context)
  assert.equal([enb?.sinceMs, enb?.lastOkAtMs, enb?.detail], [startMs + 15_000, startMs, 'few phones'])
  assert.equal([beat?.sinceMs, beat?.lastOkAtMs], [startMs, startMs + 30_000])
})

telemetry('notes an agent whose clock is off', async () => {
  const world = await setting()
  const at = new Date(world.clock.nowMs() + 90_000).toISOString()
  await takeHeartbeat(world.fake.context, heartbeat(world, 1, { at }), AGENT)
  assert.equal((await agents(world))[0], ['n', 'degraded', 'another box: its clock is 90 s ahead'])
})

telemetry('refuses a time that is none and a component that is there twice', () => {
  const world = nodesWorld()
  const twice = [{ name: 'enb', status: 'ok' } as const, { name: 'enb', status: 'down' } as const]
  assert.throws(
    () => sentAtMs(heartbeat(world, 1, { at: '2026-12-31T23:59:60Z', components: twice })),
    /\/at.*\/components\/1/,
  )
})

telemetry('sums health up: down for what is required, degraded for anything else', () => {
  assert.is(overallStatus([component({ name: 'a' })]), 'ok')
  assert.is(overallStatus([component({ name: 'a', status: 'down', required: false })]), 'degraded')
  assert.is(overallStatus([component({ name: 'a', status: 'degraded' })]), 'degraded')
  assert.is(overallStatus([component({ name: 'a', status: 'down' })]), 'down')
})

telemetry.run()
