import type { ObservedTx } from '@steeple/contracts'
import { failure, onEachStore, TOY, toy } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { createOutboxWriter } from '../../src/mutation/outbox.ts'
import { benched, making, mutationBench } from './mutation-fixture.ts'

const WEEK_MS = 7 * 86_400_000

onEachStore('kernel/mutation/outbox', (test, store) => {
  const onBench = benched(test, store)
  onBench('numbers events without a gap in commit order, whatever fails between', async (bench, box) => {
    const two = await mutationBench(box)
    await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) =>
        (index % 2 === 0 ? bench : two).mutations.run(making(`t${index % 30}`)),
      ),
    )
    const events = await bench.outbox.after(0, 100)
    assert.equal(
      events.map(({ id }) => id),
      Array.from({ length: 30 }, (_, index) => index + 1),
    )
    assert.is(await bench.outbox.lastId(), 30)
    assert.equal(
      (await bench.outbox.after(28, 1)).map(({ id }) => id),
      [29],
    )
  })

  onBench(
    'takes events of what was observed, without an audit entry, and none of what was undone',
    async (bench) => {
      const insert = (id: string) => (tx: ObservedTx) => {
        tx.event({ type: 'toy.seen', subject: id, data: { id } })
        return TOY.insert(tx, toy(id))
      }
      await bench.mutations.observe('toy', insert('a'))
      const undone = await failure(() => bench.mutations.observe('toy', insert('a')))
      assert.ok(undone !== undefined)
      await bench.mutations.observe('toy', insert('b'))
      assert.equal(
        (await bench.outbox.after(0, 10)).map(({ id, type, subject, data }) => ({ id, type, subject, data })),
        [
          { id: 1, type: 'toy.seen', subject: 'a', data: { id: 'a' } },
          { id: 2, type: 'toy.seen', subject: 'b', data: { id: 'b' } },
        ],
      )
      assert.equal(await bench.audit.list({}, 10, undefined), [])
      assert.ok((await failure(() => bench.mutations.observe('other', insert('c')))) !== undefined)
    },
  )

  onBench('gives the number of an undone event to the next one of the same commit', async (bench) => {
    const outbox = createOutboxWriter(() => undefined)
    const event = { atMs: 1, type: 'toy.make', subject: 'a', data: {} }
    const undone = failure(() =>
      bench.db.transact(async (tx) => {
        await outbox.append(tx, event)
        throw new Error('no')
      }),
    )
    await bench.db.transact((tx) => outbox.append(tx, event))
    assert.is((await undone)?.message, 'no')
    assert.equal(await bench.db.all('select id from kernel_outbox'), [{ id: 1 }])
  })

  onBench('says that a changed event is lost, and gives those behind it', async (bench, box) => {
    for (const id of ['a', 'b', 'c']) await bench.mutations.run(making(id))
    await box.raw("update kernel_outbox set subject = 'x' where id = 2")
    const events = await bench.outbox.after(0, 10)
    assert.equal(
      events.map(({ id, isLost, subject }) => ({ id, isLost: isLost === true, subject })),
      [
        { id: 1, isLost: false, subject: 'a' },
        { id: 2, isLost: true, subject: '' },
        { id: 3, isLost: false, subject: 'c' },
      ],
    )
  })

  onBench('tells listeners once for each commit until they leave', async (bench) => {
    const leaving = new AbortController()
    let told = 0
    bench.outbox.onCommit(() => told++, leaving.signal)
    await Promise.all(['a', 'b', 'c'].map((id) => bench.mutations.run(making(id))))
    assert.is(told, 1)
    await failure(() => bench.mutations.run(making('a')))
    assert.is(told, 1)
    leaving.abort()
    await bench.mutations.run(making('d'))
    assert.is(told, 1)
  })

  onBench(
    'drops old events, says from where on it is complete, and never uses an id twice',
    async (bench, box) => {
      assert.is(await bench.outbox.floorId(), 0)
      for (const id of ['a', 'b']) await bench.mutations.run(making(id))
      await box.clock.advance(WEEK_MS)
      await bench.mutations.run(making('c'))
      await bench.mutations.sweep()
      assert.is(await bench.outbox.floorId(), 0)
      await box.clock.advance(1)
      await bench.mutations.sweep()
      assert.is(await bench.outbox.floorId(), 2)
      await box.clock.advance(2 * WEEK_MS)
      await bench.mutations.sweep()
      assert.equal(
        (await bench.outbox.after(0, 9)).map(({ id }) => id),
        [3],
      )
      await bench.mutations.run(making('d'))
      assert.is(await bench.outbox.lastId(), 4)
    },
  )
}).run()
