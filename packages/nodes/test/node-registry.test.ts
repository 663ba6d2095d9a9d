import { assert, suite } from '@steeple/testkit'
import { HEARTBEATS, moveNode, NODES } from '../src/node-store.ts'
import { nodeRegistry } from '../src/plugin.ts'
import { nodesWorld } from './helpers.ts'

const registry = suite('nodes/registry')
const ID = '22222222-2222-4333-8444-555555555555'

registry(
  'makes the record of a node that is let in, keeps its state at a renewal, and begins anew after it left',
  async () => {
    const { fake, clock, db } = nodesWorld()
    const nodes = nodeRegistry(fake.context)
    const madeAtMs = clock.nowMs()
    const enroll = (name: string, certificateExpiresAtMs: number) =>
      db.write((tx) => nodes.enrolled(tx, { nodeId: ID, name, certificateExpiresAtMs }))
    await enroll('mast', 50)
    const first = await NODES.find(db, { node_id: ID })
    assert.equal([first?.state, first?.enrolled_at_ms, first?.left_at_ms], ['register', madeAtMs, null])
    if (first !== undefined) await db.write((tx) => moveNode(tx, first, 'on_air', madeAtMs))
    await clock.advance(1_000)
    await enroll('mast', 99)
    const renewed = await NODES.find(db, { node_id: ID })
    assert.equal(
      [renewed?.state, renewed?.enrolled_at_ms, renewed?.certificate_expires_at_ms],
      ['on_air', madeAtMs, 99],
    )
    await db.write((tx) =>
      HEARTBEATS.put(tx, {
        node_id: ID,
        seq: 1,
        at_ms: 0,
        received_at_ms: 0,
        fresh_since_ms: 0,
        interval_ms: 1,
        components: '[]',
        counters: '{}',
        versions: '{}',
        node: null,
      }),
    )
    await db.write((tx) => nodes.left(tx, ID))
    const gone = await NODES.find(db, { node_id: ID })
    assert.equal([gone?.state, gone?.left_at_ms], ['provision', clock.nowMs()])
    assert.is(await HEARTBEATS.find(db, { node_id: ID }), undefined, 'a node that left is not stale')
    await enroll('mast again', 120)
    const back = await NODES.find(db, { node_id: ID })
    assert.equal([back?.name, back?.state, back?.created_at_ms], ['mast again', 'register', madeAtMs])
    assert.is(back?.left_at_ms, null)
    await db.write((tx) => nodes.left(tx, 'nobody'))
  },
)

registry.run()
