import { assert, memoryDb, seededDraw, suite, testSeed } from '@steeple/testkit'
import { HEARTBEATS, type HeartbeatRow, listHeartbeats, MIGRATIONS } from '../src/node-store.ts'
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

agents('after any heartbeats, removals and clocks a look says what the store has, by few rows', async () => {
  const draw = seededDraw(testSeed())
  const db = memoryDb(MIGRATIONS)
  const at = (): number => draw(5) * 1_000
  const stored = () =>
    db.all<HeartbeatRow>('select * from nodes_heartbeat order by received_at_ms, node_id limit 1000')
  for (let round = 1; round <= 60; round++) {
    await db.write(async (tx) => {
      const some = round === 20 ? 700 : draw(6)
      for (let one = 0; one < some; one++) {
        const node_id = `box-${draw(round === 20 ? 700 : 50)}`
        if (draw(5) === 0) await HEARTBEATS.remove(tx, { node_id: node_id })
        else await HEARTBEATS.put(tx, beatOf(node_id, round, at()))
      }
    })
    const looked = await listHeartbeats(db, 1_000)
    assert.equal(
      looked,
      (await stored()).map(({ ...row }) => {
        Reflect.deleteProperty(row, 'row_sum')
        return row
      }),
    )
    const again = await listHeartbeats(db, 1_000)
    assert.ok(
      again.every((row, i) => row === looked[i]),
      'nothing was read twice',
    )
  }
})

function beatOf(node_id: string, seq: number, received_at_ms: number): HeartbeatRow {
  const components = JSON.stringify([{ name: 'core', status: 'ok', detail: `${seq}`, sinceMs: seq }])
  const times = { at_ms: received_at_ms, received_at_ms, fresh_since_ms: 0, interval_ms: 15_000 }
  return { node_id, seq, ...times, components, counters: '{}', versions: '{}', node: null }
}

agents.run()
