import { assert, suite } from '@steeple/testkit'
import { agentWatch, ensureOwnNode } from '../src/plugin.ts'
import { takeHeartbeat } from '../src/telemetry-routes.ts'
import { nodesWorld, OTHER_ID, principal, storedNode } from './helpers.ts'

const agents = suite('nodes/agent-watch')

agents('gives what heartbeats say, how old they are and how the clock of the agent goes', async () => {
  const world = nodesWorld()
  const { context } = world.fake
  await ensureOwnNode(context)
  await storedNode(world.db, { node_id: OTHER_ID, name: 'hill' })
  const watch = agentWatch(context)
  assert.equal(await watch.agents(), [])
  const beat = {
    node_id: OTHER_ID,
    at: new Date(world.clock.nowMs() - 20_000).toISOString(),
    seq: 1,
    components: [
      { name: 'enb', status: 'down' },
      { name: 'hss', status: 'ok' },
    ],
  } as const
  await takeHeartbeat(context, beat, principal('node', OTHER_ID, 'node'))
  const [fresh] = await watch.agents()
  assert.equal(
    [fresh?.nodeId, fresh?.name, fresh?.isStale, fresh?.silentMs, fresh?.skewMs],
    [OTHER_ID, 'hill', false, 0, -20_000],
  )
  assert.equal(
    fresh?.components.map(({ name, status }) => [name, status]),
    [
      [`node/${OTHER_ID}`, 'degraded'],
      [`node/${OTHER_ID}/enb`, 'down'],
      // Who watches it hears that it is well again.
      [`node/${OTHER_ID}/hss`, 'ok'],
    ],
  )
  await world.clock.advance(3_600_000)
  const [stale] = await watch.agents()
  assert.equal([stale?.isStale, stale?.silentMs], [true, 3_600_000])
})

agents.run()
