import { type LifecycleState, type Peering, peeringRef } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { nodeReconciler } from '../src/degraded.ts'
import { createLifecycle, towardsMesh } from '../src/lifecycle.ts'
import { ensureOwnNode } from '../src/plugin.ts'
import { nodesWorld, OWN_ID, principal } from './helpers.ts'

const follower = suite('nodes/mesh-follower')
const ADMIN = principal('admin-env', 'admin', 'admin')
const MESH_STATES: readonly LifecycleState[] = ['on_air', 'peer', 'breakout']

async function setting() {
  const world = nodesWorld()
  const { context, services } = world.fake
  await ensureOwnNode(context)
  const lifecycle = createLifecycle(context)
  const reconciler = nodeReconciler(context, lifecycle)
  return {
    world,
    lifecycle,
    arm: async () => {
      await world.db.write((tx) => lifecycle.txArmed(tx))
      world.isArmed = true
    },
    pass: () => reconciler.reconcile([OWN_ID], new AbortController().signal),
    mesh: (isJoined: boolean, hasRoutes: boolean, isMember?: boolean): void => {
      const breakout = { mode: hasRoutes ? ('local' as const) : ('off' as const), peerCount: 0 }
      const standing: Peering = {
        state: async () => ({
          isJoined,
          hasRoutes,
          breakout,
          ...(isMember === undefined ? {} : { isMember }),
        }),
      }
      services.set(peeringRef.id, standing)
    },
    leaveOut: () => services.delete(peeringRef.id),
    force: async (from: LifecycleState, to: LifecycleState) => {
      const move = await lifecycle.prepare({ from, to, force: true }, ADMIN)
      await context.mutate(ADMIN, 'lifecycle.transition', OWN_ID, async (tx) => {
        await move(tx)
      })
    },
    moves: () =>
      world.fake.mutations
        .filter(({ action, principal: by }) => action === 'lifecycle.transition' && by.kind === 'system')
        .map(({ detail }) => `${detail.from}>${detail.to}`),
  }
}

follower('moves up with what is seen of the mesh and back with its loss, audited', async () => {
  const { lifecycle, arm, pass, mesh, moves } = await setting()
  mesh(true, true)
  await pass()
  assert.is(await lifecycle.state(), 'provision', 'nothing is on air without TX')
  await arm()
  mesh(true, false)
  await pass()
  assert.is(await lifecycle.state(), 'peer')
  mesh(true, true)
  await pass()
  assert.is(await lifecycle.state(), 'breakout')
  mesh(true, false)
  await pass()
  assert.is(await lifecycle.state(), 'peer')
  mesh(false, false)
  await pass()
  await pass()
  assert.is(await lifecycle.state(), 'on_air')
  assert.equal(moves(), ['on-air>peer', 'peer>breakout', 'breakout>peer', 'peer>on-air'])
})

follower(
  'is registered once it was let into the mesh of another one, audited, and not for having members',
  async () => {
    const { lifecycle, pass, mesh, moves } = await setting()
    mesh(true, false, false)
    await pass()
    assert.is(await lifecycle.state(), 'provision', 'a root was let in by nobody')
    mesh(true, false, true)
    await pass()
    assert.is(await lifecycle.state(), 'register')
    assert.equal(moves(), ['provision>register'])
    mesh(false, false, false)
    await pass()
    assert.is(await lifecycle.state(), 'register', 'it has its certificate still')
  },
)

follower('goes all the way in one pass', async () => {
  const { lifecycle, arm, pass, mesh } = await setting()
  await arm()
  mesh(true, true)
  await pass()
  assert.is(await lifecycle.state(), 'breakout')
  mesh(false, false)
  await pass()
  assert.is(await lifecycle.state(), 'on_air')
})

follower('waits for a mesh plugin that is exchanged, not for one that is gone', async () => {
  const { world, lifecycle, arm, pass, mesh, leaveOut } = await setting()
  await arm()
  mesh(true, false)
  await pass()
  leaveOut()
  await pass()
  await world.clock.advance(29_000)
  await pass()
  assert.is(await lifecycle.state(), 'peer')
  await world.clock.advance(2_000)
  await pass()
  assert.is(await lifecycle.state(), 'on_air')
})

follower('keeps a state that an admin has forced until it is left', async () => {
  const { lifecycle, arm, pass, mesh, force } = await setting()
  mesh(false, false)
  await arm()
  await force('on_air', 'peer')
  await force('peer', 'breakout')
  await pass()
  assert.is(await lifecycle.state(), 'breakout')
  mesh(true, true)
  await pass()
  mesh(false, false)
  await pass()
  assert.is(await lifecycle.state(), 'breakout', 'forced it stays')
})

follower('a state that it came to without force is left when the mesh is lost', async () => {
  const { world, lifecycle, arm, pass, mesh, force } = await setting()
  mesh(false, false)
  await arm()
  await force('on_air', 'peer')
  world.isArmed = false
  await pass()
  assert.is(await lifecycle.state(), 'register')
  await arm()
  mesh(true, false)
  await pass()
  assert.is(await lifecycle.state(), 'peer')
  mesh(false, false)
  await pass()
  assert.is(await lifecycle.state(), 'on_air')
})

follower('comes to rest from any state and any facts, by neighbours alone', () => {
  const facts = fc.record({ isJoined: fc.boolean(), hasRoutes: fc.boolean() })
  fc.assert(
    fc.property(fc.constantFrom(...MESH_STATES), facts, fc.boolean(), (from, seen, isForced) => {
      let state: LifecycleState = from
      for (let steps = 0; steps < MESH_STATES.length; steps += 1) {
        // Only the first state can be one that was forced.
        const next = towardsMesh(state, seen, isForced && state === from)
        if (next === undefined) return
        assert.is(Math.abs(MESH_STATES.indexOf(next.to) - MESH_STATES.indexOf(state)), 1)
        state = next.to
      }
      assert.is(towardsMesh(state, seen, false), undefined)
    }),
  )
})

follower.run()
