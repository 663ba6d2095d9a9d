import { assert, suite } from '@steeple/testkit'
import { nodeReconciler } from '../src/degraded.ts'
import { createLifecycle } from '../src/lifecycle.ts'
import { ensureOwnNode } from '../src/plugin.ts'
import { takeHeartbeat } from '../src/telemetry-routes.ts'
import { component, nodesWorld, OTHER_ID, OWN_ID, principal, storedNode } from './helpers.ts'

const reconciling = suite('nodes/reconcile')

async function setting() {
  const world = nodesWorld()
  await ensureOwnNode(world.fake.context)
  await storedNode(world.db, { node_id: OTHER_ID })
  const lifecycle = createLifecycle(world.fake.context)
  const reconciler = nodeReconciler(world.fake.context, lifecycle)
  const pass = async (): Promise<void> => {
    await reconciler.reconcile(await reconciler.keys(), new AbortController().signal)
  }
  const events = () => world.fake.mutations.slice(1).map(({ action, target }) => [action, target])
  return { world, lifecycle, reconciler, pass, events }
}

reconciling('looks at this node, and at those that are or should be degraded', async () => {
  const { world, reconciler, pass } = await setting()
  const keys = async () => [...(await reconciler.keys())].toSorted()
  const beat = async (seq: number, status: 'ok' | 'down'): Promise<void> => {
    const at = new Date(world.clock.nowMs()).toISOString()
    const body = { node_id: OTHER_ID, at, seq, components: [{ name: 'core', status }] }
    await takeHeartbeat(world.fake.context, body, principal('node', OTHER_ID, 'node'))
  }
  await beat(1, 'ok')
  assert.equal(await keys(), [OWN_ID])
  await beat(2, 'down')
  assert.equal(await keys(), [OWN_ID, OTHER_ID])
  await pass()
  await beat(3, 'ok')
  assert.equal(await keys(), [OWN_ID, OTHER_ID], 'it is shown as degraded still')
  await pass()
  assert.equal(await keys(), [OWN_ID])
  await world.clock.advance(45_001)
  assert.equal(await keys(), [OWN_ID, OTHER_ID])
})

reconciling('says once when a node degrades and once when it recovers', async () => {
  const { world, pass, events } = await setting()
  const agent = principal('node', OTHER_ID, 'node')
  const beat = async (seq: number): Promise<void> => {
    const at = new Date(world.clock.nowMs()).toISOString()
    await takeHeartbeat(world.fake.context, { node_id: OTHER_ID, at, seq, components: [] }, agent)
  }
  await beat(1)
  await pass()
  assert.equal(events(), [])
  await world.clock.advance(60_000)
  await pass()
  await pass()
  assert.equal(events(), [['node.degrade', OTHER_ID]])
  await beat(2)
  await pass()
  await pass()
  assert.equal(events(), [
    ['node.degrade', OTHER_ID],
    ['node.recover', OTHER_ID],
  ])
})

reconciling(
  'lays the overlay over this node for a required component alone, once its health is known',
  async () => {
    const { world, pass, events } = await setting()
    world.components = [component({ name: 'core', status: 'down' })]
    world.isReady = false
    await pass()
    assert.equal(events(), [])
    world.isReady = true
    await pass()
    assert.equal(events(), [['node.degrade', OWN_ID]])
    world.components = [component({ name: 'core', status: 'down', required: false })]
    await pass()
    assert.equal(events().at(-1), ['node.recover', OWN_ID])
  },
)

reconciling('keeps a changed reason without another event', async () => {
  const { world, pass, events } = await setting()
  world.components = [component({ name: 'core', status: 'down' })]
  await pass()
  world.components = [component({ name: 'hss', status: 'down' })]
  await pass()
  assert.equal(events(), [['node.degrade', OWN_ID]])
  assert.equal(await world.db.all('select reason from nodes_overlay'), [{ reason: 'not ok: hss' }])
})

reconciling('takes this node off the air when TX is not armed', async () => {
  const { world, lifecycle, pass, events } = await setting()
  await world.db.write((tx) => lifecycle.txArmed(tx))
  await pass()
  assert.is(await lifecycle.state(), 'register')
  assert.equal(events(), [['lifecycle.transition', OWN_ID]])
})

reconciling.run()
