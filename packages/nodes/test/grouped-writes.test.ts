import { once } from 'node:events'
import { assert, suite } from '@steeple/testkit'
import { HEARTBEATS } from '../src/node-store.ts'
import { groupedWrites } from '../src/telemetry-routes.ts'
import { nodesWorld } from './helpers.ts'

const grouped = suite('nodes/grouped-writes')

function row(seq: number) {
  const rest = { at_ms: 0, received_at_ms: 0, fresh_since_ms: 0, interval_ms: 1, components: '[]' }
  return { node_id: `node ${seq}`, seq, counters: '{}', versions: '{}', node: null, ...rest }
}

grouped('shares commits among what comes close together, and answers each when it is written', async () => {
  const { db } = nodesWorld()
  let commits = 0
  const write = groupedWrites({
    write: async (work) => {
      commits += 1
      return await db.write(work)
    },
  })
  const seqs = Array.from({ length: 40 }, (_, seq) => seq)
  const results = await Promise.all(
    seqs.map((seq) =>
      write(async (tx) => {
        await HEARTBEATS.put(tx, row(seq))
        return seq
      }),
    ),
  )
  assert.equal(results, seqs)
  assert.ok(commits <= 2, `${commits} commits`)
  for (const seq of seqs) assert.is((await HEARTBEATS.find(db, { node_id: `node ${seq}` }))?.seq, seq)
  await write(async (tx) => HEARTBEATS.put(tx, row(99)))
  assert.is((await HEARTBEATS.find(db, { node_id: 'node 99' }))?.seq, 99)
})

grouped('tells each of a commit that fails, and goes on', async () => {
  const { db } = nodesWorld()
  const write = groupedWrites(db)
  const failing = async (): Promise<never> => {
    throw new Error('the disk is full')
  }
  const outcomes = await Promise.allSettled([write(failing), write(async () => 1)])
  assert.equal(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.is(await write(async () => 2), 2)
})

grouped('lets a full group go before its time', async () => {
  const { db } = nodesWorld()
  // The time never comes.
  const write = groupedWrites(db, (_waitMs, signal) => once(signal, 'abort'))
  assert.is(await write(async () => 'first'), 'first')
  const results = await Promise.all(Array.from({ length: 64 }, (_, index) => write(async () => index)))
  assert.is(results.length, 64)
})

grouped.run()
