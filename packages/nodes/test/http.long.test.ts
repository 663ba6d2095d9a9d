import { randomUUID } from 'node:crypto'
import { type LifecycleState, lifecycleRef, type Plugin, txGateRef } from '@steeple/contracts'
import {
  assert,
  bodyOf,
  codeOf,
  eventually,
  type FakeClock,
  fakeClock,
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
  type TestResponse,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'

const http = suite('nodes/http')
let bed: Testbed
let clock: FakeClock
let isArmed = false

/** A TX gate that the test turns, in place of the policy plugin. */
function gatePlugin(): InlinePlugin {
  const gates = { country_code: 'set', license_ack: 'set', allow_list: 'set' }
  const gate: Plugin = {
    setup: async () => ({
      services: new Map([
        [
          txGateRef.id,
          {
            state: async () => ({ armed: isArmed, gates, profile: undefined }),
            permit: async () => undefined,
            permitCarrier: async () => undefined,
          },
        ],
      ]),
    }),
  }
  return {
    name: '@steeple/gate-under-test',
    version: '0.0.1',
    manifest: {
      id: 'gate-under-test',
      kind: 'feature',
      contracts: '*',
      config_path: 'gate_under_test',
      handover: 'overlap',
      provides: [txGateRef.id],
    },
    plugin: gate,
  }
}

http.before(
  async () => {
    const { startTestbed } = await loadTestbed()
    clock = fakeClock()
    const plugins = [gatePlugin(), await pluginFrom(import.meta.url, plugin)]
    bed = await startTestbed({ plugins, clock })
    await clock.advance(100)
    await bed.settled()
  },
  { limitMs: 360_000 },
)
http.after(() => bed.stop())

type Json = Readonly<Record<string, unknown>>

async function state(): Promise<LifecycleState | undefined> {
  return bed.service(lifecycleRef)?.state()
}

function move(from: string, to: string, force = false, token?: string): Promise<TestResponse> {
  const body = { from, to, force }
  return bed.request('POST', '/v1/lifecycle/transition', token === undefined ? { body } : { body, token })
}

http('makes the record of this node at the first start and lists it', async () => {
  const { nodes, next_cursor } = bodyOf<Json>(await bed.request('GET', '/v1/nodes'), 200)
  assert.equal(
    (nodes as readonly Json[]).map(({ node_id, name, state: status, plmn }) => [node_id, name, status, plmn]),
    [[bed.identity.nodeId, bed.identity.name, 'bootstrap', '999-99']],
  )
  assert.is(next_cursor, null)
  assert.is((await bed.audit()).filter(({ action }) => action === 'node.init').length, 1)
})

http('answers status and health to a viewer once it is ready', async () => {
  const token = bed.credential({ kind: 'token', id: 'viewer', roles: ['viewer'] })
  const status = bodyOf<Json>(await bed.request('GET', '/v1/status', { token }), 200)
  assert.equal([status.plmn, status.node_id, status.tx], ['999-99', bed.identity.nodeId, { armed: false }])
  const health = bodyOf<Json>(await bed.request('GET', '/v1/health', { token }), 200)
  assert.is(health.status, 'ok', JSON.stringify(health))
})

http('tells that this node is enrolled and did not leave', async () => {
  const path = `/v1/nodes/${bed.identity.nodeId}`
  assert.is(bodyOf<Json>(await bed.request('GET', `${path}/enroll`), 200).enrolled, true)
  assert.is(bodyOf<Json>(await bed.request('GET', `${path}/leave`), 200).left, false)
  const unknown = await bed.request('GET', `/v1/nodes/${randomUUID()}/enroll`)
  assert.equal([unknown.status, codeOf(unknown)], [404, 'node_not_found'])
})

http('moves through the lifecycle with the TX gate closed only as far as register', async () => {
  const { at, ...moved } = bodyOf<Json>(await move('provision', 'register'), 200)
  assert.equal(moved, { node_id: bed.identity.nodeId, from: 'provision', to: 'register', forced: false })
  assert.is(at, new Date(clock.nowMs()).toISOString())
  for (const force of [false, true]) {
    const refused = await move('register', 'on-air', force)
    assert.equal([refused.status, codeOf(refused)], [409, 'invalid_transition'])
  }
  assert.is(await state(), 'register')
})

http('refuses a from that is not the state, and audits the refusal', async () => {
  const refused = await move('peer', 'on_air')
  assert.equal([refused.status, codeOf(refused)], [409, 'invalid_transition'])
  assert.match(JSON.stringify(refused.body), /register.*peer/)
  const [newest] = await bed.audit()
  assert.equal([newest?.action, newest?.outcome], ['lifecycle.transition', 'failed'])
})

http('goes on air in either spelling when TX is armed, and by force of an admin on to peer', async () => {
  isArmed = true
  const moved = bodyOf<Json>(await move('register', 'on_air'), 200)
  assert.is(moved.to, 'on-air')
  const operator = bed.credential({ kind: 'token', id: 'operator', roles: ['operator'] })
  assert.is((await move('on-air', 'peer', true, operator)).status, 403)
  assert.is((await move('on-air', 'peer', false)).status, 409)
  assert.is(bodyOf<Json>(await move('on-air', 'peer', true), 200).forced, true)
  const status = bodyOf<Json>(await bed.request('GET', '/v1/status'), 200)
  assert.equal([status.state, status.tx], ['peered', { armed: true }])
})

http('falls back to register by itself when it finds TX not armed', async () => {
  isArmed = false
  // A look that is slow may have begun before the gate was closed: then the next one finds it.
  await eventually(async () => {
    await clock.advance(5_000)
    assert.is(await state(), 'register')
  })
  const newest = (await bed.audit()).find(({ action }) => action === 'lifecycle.transition')
  assert.is(newest?.principal.kind, 'system')
})

http('takes heartbeats of a node for itself alone, and shows it degraded while they stay away', async () => {
  const own = bed.identity.nodeId
  const token = bed.credential({ kind: 'node', id: own, roles: ['node'] })
  const stranger = bed.credential({ kind: 'node', id: randomUUID(), roles: ['node'] })
  const at = new Date(clock.nowMs()).toISOString()
  const body = { node_id: own, at, seq: 1, components: [{ name: 'enb', status: 'ok' }] }
  assert.is((await bed.request('POST', '/v1/telemetry', { token: stranger, body })).status, 403)
  const taken = bodyOf<Json>(await bed.request('POST', '/v1/telemetry', { token, body }), 202)
  assert.equal(taken, { accepted: true, next_in_s: 15 })
  await clock.advance(60_000)
  await eventually(async () => {
    await clock.advance(5_000)
    assert.is(bodyOf<Json>(await bed.request('GET', '/v1/status'), 200).state, 'degraded')
  })
  await bed.request('POST', '/v1/telemetry', { token, body: { ...body, seq: 2 } })
  await eventually(async () => {
    await clock.advance(10)
    assert.is(bodyOf<Json>(await bed.request('GET', '/v1/status'), 200).state, 'registered')
  })
  const types = (await bed.events()).map(({ type }) => type)
  assert.equal(types.filter((type) => type.startsWith('node.')).slice(-2), ['node.degrade', 'node.recover'])
})

http('refuses a heartbeat that is too large, unknown or of nobody', async () => {
  const body = { node_id: randomUUID(), at: '2026-01-01T00:00:00Z', seq: 1, components: [] }
  assert.is(codeOf(await bed.request('POST', '/v1/telemetry', { body })), 'node_not_found')
  const many = Array.from({ length: 33 }, (_, index) => ({ name: `c${index}`, status: 'ok' }))
  for (const over of [{ components: many }, { seq: -1 }, { at: 'now' }, { extra: true }]) {
    const refused = await bed.request('POST', '/v1/telemetry', { body: { ...body, ...over } })
    assert.equal([refused.status, codeOf(refused)], [400, 'validation_failed'])
  }
})

http.run()
