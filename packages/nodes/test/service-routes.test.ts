import { coreDriverRef, peeringRef, policyRef, ranDriverRef, subscribersRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { incidentLook } from '../src/incidents.ts'
import { ownInternet } from '../src/internet.ts'
import { createLifecycle } from '../src/lifecycle.ts'
import { nodeRoutes } from '../src/node-routes.ts'
import { ensureOwnNode } from '../src/plugin.ts'
import { createRadioLook, nodeReporter } from '../src/report.ts'
import { serviceRoutes } from '../src/service-routes.ts'
import { codeOf, component, nodesWorld, OTHER_ID, OWN_ID, read, storedNode } from './helpers.ts'

const service = suite('nodes/service-routes')

interface Seen {
  readonly connected?: boolean
  readonly known: boolean
  readonly attached?: number | null
}

async function setting() {
  const world = nodesWorld()
  const { context } = world.fake
  await ensureOwnNode(context)
  const lifecycle = createLifecycle(context)
  const look = createRadioLook(context)
  const incidentsIn = incidentLook(context.clock, async () => (await look()).attachedUes ?? undefined)
  const reporter = nodeReporter(context, lifecycle, look, { current: async () => [] })
  const routes = [
    ...serviceRoutes(context, lifecycle, look, incidentsIn, ownInternet(context)),
    ...nodeRoutes(context, reporter),
  ]
  return { world, lifecycle, routes }
}

service('asks anew for a radio that has changed, and not for each request', async () => {
  const { world, routes } = await setting()
  let isConnected = false
  world.fake.services.set(ranDriverRef.id, {
    observe: async () => ({ pid: 1, isConnected, isWanted: true, attachedUes: 0, mode: 'lte' }),
  })
  const connected = async () => ((await read(routes, '/v1/status')).body as { enb: object }).enb
  await world.clock.advance(2_500)
  const before = await connected()
  isConnected = true
  assert.equal(await connected(), before)
  await world.fake.emit({ type: 'ran.state', subject: 'ran' })
  assert.equal(await connected(), {
    connected: true,
    mode: 'lte',
    s1_setup: true,
    known: true,
    other_networks: [],
  })
})

service('is not ready until the first reconcile pass is over', async () => {
  const { world, routes } = await setting()
  world.isReady = false
  assert.is(await codeOf(read(routes, '/v1/status')), 'not_ready')
})

service('tells the status of a fresh node', async () => {
  const { world, routes } = await setting()
  await world.clock.advance(2_500)
  assert.equal((await read(routes, '/v1/status')).body, {
    state: 'bootstrap',
    plmn: '999-99',
    tac: 7,
    apns: ['internet', 'ims'],
    enb: { connected: false, mode: 'unknown', s1_setup: false, known: false, other_networks: [] },
    ue: { registered: false, sim_state: 'none', attached: null, known: false },
    foreign_subscribers: null,
    internet: null,
    breakout: { mode: 'off', peer_count: 0 },
    mode: 'lab',
    core: 'core_a',
    country: 'LAB',
    node_id: OWN_ID,
    version: '1.2.3',
    uptime_s: 2,
    tx: { armed: false },
    incidents: [],
    boxes: { total: 0, well: 0, not_well: 0, silent: 0 },
    components: [],
    instance: { name: '', role: 'alone', leader: '', epoch: 0 },
  })
})

service('tells the APNs that the core is set to, which the policy says', async () => {
  const { world, routes } = await setting()
  world.fake.services.set(policyRef.id, { bundle: () => ({ apns: ['internet', 'iot.example'] }) })
  const { apns } = (await read(routes, '/v1/status')).body as { apns: unknown }
  assert.equal(apns, ['internet', 'iot.example'])
})

service('tells what drivers, TX gate, settings and components say', async () => {
  const { world, lifecycle, routes } = await setting()
  await world.db.write((tx) => lifecycle.txArmed(tx))
  world.isArmed = true
  world.fake.services.set(peeringRef.id, {
    state: async () => ({ isJoined: true, hasRoutes: true, breakout: { mode: 'peer', peerCount: 1 } }),
  })
  world.fake.services.set(ranDriverRef.id, {
    observe: async () => ({ pid: 1, isConnected: true, isWanted: true, attachedUes: 1, mode: 'nr' }),
  })
  world.fake.services.set(coreDriverRef.id, {
    observe: async () => ({ radios: 1, attachedUes: 2, technology: 'lte' }),
  })
  const { body } = await read(routes, '/v1/status')
  const status = body as Readonly<Record<string, unknown>>
  assert.equal(
    [status.state, status.enb, status.ue, status.breakout, status.tx],
    [
      'on-air',
      { connected: true, mode: 'nr', s1_setup: true, known: true, other_networks: [] },
      { registered: true, sim_state: 'activated', attached: 2, known: true },
      { mode: 'peer', peer_count: 1 },
      { armed: true },
    ],
  )
})

service('takes from the core what its own radio driver cannot know', async () => {
  const { world, routes } = await setting()
  world.fake.services.set(ranDriverRef.id, {
    observe: async () => ({
      pid: undefined,
      isConnected: false,
      isWanted: true,
      attachedUes: 0,
      mode: 'none',
    }),
  })
  world.fake.services.set(coreDriverRef.id, {
    observe: async () => ({ radios: 1, attachedUes: 3, technology: 'lte' }),
  })
  const { body } = await read(routes, '/v1/status')
  const { enb, ue } = body as { readonly enb: unknown; readonly ue: { readonly attached: number } }
  assert.equal(
    [enb, ue.attached],
    [{ connected: true, mode: 'lte', s1_setup: true, known: true, other_networks: [] }, 3],
  )
})

service('names other networks where no base station is of this one', async () => {
  for (const [radios, others] of [
    [0, ['999-99']],
    [1, []],
  ] as const) {
    const { world, routes } = await setting()
    world.fake.services.set(coreDriverRef.id, {
      observe: async () => ({ radios, attachedUes: 0, otherNetworks: ['999-99'] }),
    })
    const { body } = await read(routes, '/v1/status')
    assert.equal((body as { enb: { other_networks: unknown } }).enb.other_networks, others)
  }
})

service(
  'tells nothing of what a core without an answer does not tell, and zero when it says so',
  async () => {
    const { world, routes } = await setting()
    const shown = async (): Promise<readonly unknown[]> => {
      await world.clock.advance(2_001)
      const { body } = await read(routes, '/v1/status')
      const { enb, ue } = body as { readonly enb: object; readonly ue: object }
      return [enb, ue]
    }
    world.fake.services.set(coreDriverRef.id, {
      observe: async () => {
        throw new Error('the core does not answer')
      },
    })
    const nothing = [
      { connected: false, mode: 'unknown', s1_setup: false, known: false, other_networks: [] },
      { registered: false, sim_state: 'none', attached: null, known: false },
    ]
    assert.equal(await shown(), nothing)
    world.fake.services.set(coreDriverRef.id, {
      observe: async () => ({ radios: undefined, attachedUes: undefined }),
    })
    assert.equal(await shown(), nothing)
    world.fake.services.set(coreDriverRef.id, { observe: async () => ({ radios: 0, attachedUes: 0 }) })
    assert.equal(await shown(), [
      { connected: false, mode: 'none', s1_setup: false, known: true, other_networks: [] },
      { registered: false, sim_state: 'none', attached: 0, known: true },
    ])
  },
)

service('goes by what a core has told last while its answer is late, and not for long', async () => {
  const { world, routes } = await setting()
  let isLate = false
  world.fake.services.set(coreDriverRef.id, {
    observe: () => (isLate ? new Promise(() => undefined) : Promise.resolve({ radios: 1, attachedUes: 15 })),
  })
  const known = async (afterMs: number): Promise<unknown> => {
    await world.clock.advance(afterMs)
    const { enb, ue } = (await read(routes, '/v1/status')).body as Readonly<Record<string, Seen>>
    return [enb?.connected, enb?.known, ue?.attached]
  }
  assert.equal(await known(2_001), [true, true, 15])
  isLate = true
  assert.equal(await known(2_001), [true, true, 15])
  assert.equal(await known(30_000), [false, false, null])
})

service('tells the state of the SIM whose phone attached last', async () => {
  const { world, routes } = await setting()
  const shown = async (state: string | undefined): Promise<unknown> => {
    const last = async () => (state === undefined ? undefined : { state })
    world.fake.services.set(subscribersRef.id, { lastAttached: last })
    const { body } = await read(routes, '/v1/status')
    return (body as { readonly ue: { readonly sim_state: string } }).ue.sim_state
  }
  const states = [undefined, 'in-use', 'issued', 'suspended', 'expired', 'revoked']
  const seen: unknown[] = []
  for (const state of states) seen.push(await shown(state))
  assert.equal(seen, ['none', 'activated', 'activated', 'suspended', 'none', 'none'])
  world.fake.services.set(subscribersRef.id, { lastAttached: () => Promise.reject(new Error('damaged')) })
  assert.is((await read(routes, '/v1/status')).status, 200)
})

service(
  'is degraded while something required is not ok, and answers without a driver that fails or hangs',
  async () => {
    const { world, routes } = await setting()
    world.components = [component({ name: 'core', status: 'degraded' })]
    world.fake.services.set(ranDriverRef.id, { observe: () => Promise.reject(new Error('away')) })
    world.fake.services.set(coreDriverRef.id, { observe: () => new Promise(() => undefined) })
    const { body } = await read(routes, '/v1/status')
    assert.equal((body as Readonly<Record<string, unknown>>).state, 'degraded')
  },
)

service('shows every component with its times', async () => {
  const { world, routes } = await setting()
  world.components = [
    component({ name: 'store', kind: 'store', status: 'down', sinceMs: 1_000, lastOkAtMs: undefined }),
  ]
  assert.equal((await read(routes, '/v1/health')).body, {
    status: 'down',
    incidents: [
      {
        id: 'store_gone',
        kind: 'store_gone',
        severity: 'critical',
        title: 'The database of the box cannot be used',
        detail: '',
        component: 'store',
        box: null,
        boxes: { count: 0, names: [] },
        effects: [],
        impact: 'Phones that are on stay on. The box saves no change.',
        phones_off: null,
        advice:
          'Move the same file back, or restore a backup and restart the service, or start the database server.',
        runbook: '/docs/how-to/on-duty#the-database-of-the-box-cannot-be-used',
        since: '1970-01-01T00:00:01.000Z',
      },
    ],
    boxes: { total: 0, well: 0, not_well: 0, silent: 0 },
    components: [
      {
        name: 'store',
        kind: 'store',
        status: 'down',
        detail: '',
        since: '1970-01-01T00:00:01.000Z',
        last_ok_at: null,
      },
    ],
  })
})

service('tells enrollment and leave of a node, and of nobody', async () => {
  const { world, routes } = await setting()
  await storedNode(world.db, { node_id: OTHER_ID, left_at_ms: 1_000 })
  const own = (await read(routes, '/v1/nodes/:id/enroll', { id: OWN_ID })).body as Record<string, unknown>
  assert.equal([own.enrolled, own.state], [true, 'provision'])
  assert.equal((await read(routes, '/v1/nodes/:id/leave', { id: OTHER_ID })).body, {
    node_id: OTHER_ID,
    left: true,
    state: 'register',
    left_at: '1970-01-01T00:00:01.000Z',
  })
  for (const path of ['/v1/nodes/:id/enroll', '/v1/nodes/:id/leave']) {
    assert.is(await codeOf(read(routes, path, { id: 'nobody' })), 'node_not_found')
  }
})

service.run()
