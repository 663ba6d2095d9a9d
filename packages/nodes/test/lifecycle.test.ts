import { type LifecycleState, peeringRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import type { TransitionRequest } from '../src/lifecycle.ts'
import { createLifecycle, type NodeLifecycle } from '../src/lifecycle.ts'
import { ensureOwnNode } from '../src/plugin.ts'
import { codeOf, nodesWorld, OWN_ID, principal, type World } from './helpers.ts'

const lifecycles = suite('nodes/lifecycle')
const ADMIN = principal('admin-env', 'admin', 'admin')
const OPERATOR = principal('token', 't', 'operator')

interface Setting {
  readonly world: World
  readonly lifecycle: NodeLifecycle
  arm(): Promise<void>
  disarm(): Promise<void>
  move(request: TransitionRequest, by?: typeof ADMIN): Promise<unknown>
}

async function setting(): Promise<Setting> {
  const world = nodesWorld()
  const lifecycle = createLifecycle(world.fake.context)
  await ensureOwnNode(world.fake.context)
  const turn = async (isArmed: boolean): Promise<void> => {
    await world.db.write((tx) => (isArmed ? lifecycle.txArmed(tx) : lifecycle.txDisarmed(tx)))
    world.isArmed = isArmed
  }
  return {
    world,
    lifecycle,
    arm: () => turn(true),
    disarm: () => turn(false),
    move: async (request, by = OPERATOR) => {
      const move = await lifecycle.prepare(request, by)
      let result: unknown
      await world.fake.context.mutate(by, 'lifecycle.transition', OWN_ID, async (tx) => {
        result = await move(tx)
      })
      return result
    },
  }
}

lifecycles('makes the own record once, in provision, and audits that', async () => {
  const { world, lifecycle } = await setting()
  await ensureOwnNode(world.fake.context)
  assert.is(await lifecycle.state(), 'provision')
  assert.equal(
    world.fake.mutations.map(({ action, target }) => [action, target]),
    [['node.init', OWN_ID]],
  )
})

lifecycles('moves and says from, to, when and whether it was forced', async () => {
  const { world, lifecycle, move } = await setting()
  assert.equal(await move({ from: 'provision', to: 'register', force: false }), {
    nodeId: OWN_ID,
    from: 'provision',
    to: 'register',
    atMs: world.clock.nowMs(),
    isForced: false,
  })
  assert.is(await lifecycle.state(), 'register')
})

lifecycles('needs a valid certificate to register', async () => {
  const { world, lifecycle, move } = await setting()
  world.certificateExpiresAtMs = world.clock.nowMs()
  assert.is(
    await codeOf(move({ from: 'provision', to: 'register', force: true }, ADMIN)),
    'invalid_transition',
  )
  assert.is(await lifecycle.state(), 'provision')
})

lifecycles('takes force from an admin alone', async () => {
  const { lifecycle, arm, move } = await setting()
  await arm()
  assert.is(await codeOf(move({ from: 'on_air', to: 'peer', force: true })), 'forbidden')
  assert.is(await codeOf(move({ from: 'on_air', to: 'peer', force: false }, ADMIN)), 'invalid_transition')
  await move({ from: 'on_air', to: 'peer', force: true }, ADMIN)
  assert.is(await lifecycle.state(), 'peer')
})

lifecycles('follows the mesh when a plugin provides it', async () => {
  const { world, lifecycle, arm, move } = await setting()
  world.fake.services.set(peeringRef.id, { state: async () => ({ isJoined: true, hasRoutes: true }) })
  await arm()
  await move({ from: 'on_air', to: 'peer', force: false })
  await move({ from: 'peer', to: 'breakout', force: false })
  assert.is(await lifecycle.state(), 'breakout')
})

lifecycles('undoes what it did when the transaction that armed fails', async () => {
  const { world, lifecycle } = await setting()
  const failing = world.db.write(async (tx) => {
    await lifecycle.txArmed(tx)
    throw new Error('the arm could not be stored')
  })
  await failing.catch(() => undefined)
  assert.is(await lifecycle.state(), 'provision')
})

lifecycles('refuses a move that was prepared before the TX gate moved', async () => {
  const { world, lifecycle, arm, disarm } = await setting()
  await arm()
  await disarm()
  world.isArmed = true
  const move = await lifecycle.prepare({ from: 'register', to: 'on_air', force: false }, OPERATOR)
  await disarm()
  const late = world.fake.context.mutate(OPERATOR, 'lifecycle.transition', OWN_ID, async (tx) => {
    await move(tx)
  })
  assert.is(await codeOf(late), 'invalid_transition')
  assert.is(await lifecycle.state(), 'register')
})

lifecycles('falls back to register when it finds itself on air with a closed gate', async () => {
  const { world, lifecycle, arm } = await setting()
  await arm()
  assert.is(await lifecycle.heal(), false)
  world.isArmed = false
  assert.is(await lifecycle.heal(), true)
  assert.is(await lifecycle.state(), 'register')
  assert.is(await lifecycle.heal(), false)
})

lifecycles(
  'stays on air while nobody provides the TX gate, as during an upgrade of the policy plugin',
  async () => {
    const { world, lifecycle, arm } = await setting()
    await arm()
    world.fake.services.delete('policy.tx_gate')
    assert.is(await lifecycle.heal(), false)
    assert.is(await lifecycle.state(), 'on_air')
  },
)

// The model: the specification's table in its own words, beside the implementation's data.
const EDGES: Readonly<Record<string, readonly string[]>> = {
  'provision register': ['certificate'],
  'register on_air': ['tx'],
  'on_air peer': ['tx', 'mesh'],
  'peer breakout': ['tx', 'mesh', 'routes'],
  'on_air register': [],
  'peer on_air': ['tx'],
}

type Step =
  | { readonly do: 'arm' | 'disarm' | 'join' | 'part' | 'expire' | 'renew' }
  | {
      readonly do: 'move'
      readonly from: LifecycleState
      readonly to: LifecycleState
      readonly force: boolean
    }

interface Model {
  state: LifecycleState
  readonly holds: Set<string>
}

function modelMove(model: Model, step: Step & { readonly do: 'move' }): void {
  const needs = step.from === model.state ? EDGES[`${step.from} ${step.to}`] : undefined
  const open = needs?.filter((need) => !model.holds.has(need))
  const isFree = open?.every((need) => step.force && (need === 'mesh' || need === 'routes'))
  if (isFree === true) model.state = step.to
}

function modelGate(model: Model, isArmed: boolean): void {
  if (!isArmed) {
    model.holds.delete('tx')
    if (model.state !== 'provision') model.state = 'register'
    return
  }
  model.holds.add('tx')
  const canStart =
    model.state === 'register' || (model.state === 'provision' && model.holds.has('certificate'))
  if (canStart) model.state = 'on_air'
}

async function apply(real: Setting, model: Model, step: Step): Promise<void> {
  switch (step.do) {
    case 'arm':
      await real.arm()
      return modelGate(model, true)
    case 'disarm':
      await real.disarm()
      return modelGate(model, false)
    case 'join':
      real.world.fake.services.set(peeringRef.id, {
        state: async () => ({ isJoined: true, hasRoutes: true }),
      })
      model.holds.add('mesh').add('routes')
      return
    case 'part':
      real.world.fake.services.delete(peeringRef.id)
      model.holds.delete('mesh')
      model.holds.delete('routes')
      return
    case 'expire':
      real.world.certificateExpiresAtMs = 0
      model.holds.delete('certificate')
      return
    case 'renew':
      real.world.certificateExpiresAtMs = Number.MAX_SAFE_INTEGER
      model.holds.add('certificate')
      return
    case 'move': {
      const code = await codeOf(real.move(step, ADMIN))
      assert.ok(['none', 'invalid_transition'].includes(code), code)
      modelMove(model, step)
    }
  }
}

const anyState = fc.constantFrom<LifecycleState>('provision', 'register', 'on_air', 'peer', 'breakout')
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('arm', 'disarm', 'join', 'part', 'expire', 'renew') }),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('move'), from: anyState, to: anyState, force: fc.boolean() }),
  },
)

lifecycles('does what the model does over any sequence of requests and events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 40 }), async (steps) => {
      const real = await setting()
      const model: Model = { state: 'provision', holds: new Set(['certificate']) }
      for (const step of steps) {
        await apply(real, model, step)
        const state = await real.lifecycle.state()
        assert.is(state, model.state)
        assert.ok(
          model.holds.has('tx') || state === 'provision' || state === 'register',
          'on air with a closed gate',
        )
      }
      real.world.db.close()
    }),
    { numRuns: 200 },
  )
})

lifecycles.run()
