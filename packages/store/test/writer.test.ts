import { assert } from '@steeple/testkit'
import { brokenConstraint } from '../src/store-error.ts'
import { failure, onEachStore, opened, TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'

const COUNT = 'select count(*) as count from toy_item'
/** Longer than work may go on in one turn of the event loop, ms. */
const LONG_MS = 8

onEachStore('store/writer', (test, store) => {
  const onDb = opened(test, store)
  onDb('keeps what a job wrote after the store is opened again', async (first, box) => {
    await first.migrate('toy', TOY_MIGRATIONS)
    await first.transact((tx) => TOY.insert(tx, toy('a', 7)))
    await first.close()
    const second = await box.open()
    assert.equal(await TOY.find(second, { id: 'a' }), toy('a', 7))
  })

  onDb('undoes a job that throws and keeps the others of its commit', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const ended = await Promise.allSettled(
      ['a', 'b', 'c'].map((id) =>
        db.transact(async (tx) => {
          await TOY.insert(tx, toy(id))
          if (id === 'b') throw new Error('b has changed its mind')
          return id
        }),
      ),
    )
    assert.equal(
      ended.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    const rows = await TOY.select(db, 'order by id')
    assert.equal(
      rows.map(({ id }) => id),
      ['a', 'c'],
    )
  })

  onDb('gives others turns between the jobs of one commit', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const seen = await Promise.all(
      ['a', 'b', 'c'].map((id) =>
        db.transact(async (tx) => {
          await TOY.insert(tx, toy(id))
          for (const untilMs = performance.now() + LONG_MS; performance.now() < untilMs; );
          // Turns of the loop, whatever a timer makes of them.
          return performance.nodeTiming.uvMetricsInfo.loopCount
        }),
      ),
    )
    assert.is(new Set(seen).size, 3)
  })

  onDb('goes on after a statement that a constraint refused', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    await db.transact((tx) => TOY.insert(tx, toy('a')))
    const [again, other] = await Promise.all([
      failure(() => db.transact((tx) => TOY.insert(tx, toy('a')))),
      db.transact((tx) => TOY.insert(tx, toy('b'))),
    ])
    assert.is(brokenConstraint(again), 'unique')
    assert.is(other, undefined)
    assert.equal(await db.get(COUNT), { count: 2 })
  })

  onDb('shows readers nothing that is not committed', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const seen = await db.transact(async (tx) => {
      await TOY.insert(tx, toy('a'))
      return { inside: await tx.get(COUNT), beside: await db.get(COUNT) }
    })
    assert.equal(seen, { inside: { count: 1 }, beside: { count: 0 } })
    assert.equal(await db.get(COUNT), { count: 1 })
  })

  onDb('keeps nothing of a group whose commit fails, and tells every caller', async (db, box) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    let undone = 0
    const ended = await Promise.all(
      ['a', 'b'].map((id) =>
        failure(() =>
          db.transact(async (tx) => {
            await TOY.insert(tx, toy(id))
            tx.onUndo(() => {
              undone++
            })
            if (id === 'b') tx.group.beforeCommit(() => Promise.reject(new Error('no')))
          }),
        ),
      ),
    )
    assert.equal(
      ended.map((error) => error?.code),
      ['store_unavailable', 'store_unavailable'],
    )
    assert.is(undone, 2)
    assert.equal(await db.get(COUNT), { count: 0 })
    await db.transact((tx) => TOY.insert(tx, toy('c')))
    assert.equal(await db.get(COUNT), { count: 1 })
    assert.is(box.lines.length, 2)
  })

  onDb('undoes a failed attempt alone, with its steps for later', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const said: string[] = []
    await db.transact(async (tx) => {
      await TOY.insert(tx, toy('before'))
      const error = await failure(() =>
        tx.attempt(async () => {
          await TOY.insert(tx, toy('inside'))
          tx.afterCommit(() => said.push('inside'))
          tx.onUndo(() => said.push('undone'))
          throw new Error('no')
        }),
      )
      said.push(error?.message ?? '')
      await TOY.insert(tx, toy('after'))
      tx.afterCommit(() => said.push('after'))
    })
    const rows = await TOY.select(db, 'order by id')
    assert.equal(
      rows.map(({ id }) => id),
      ['after', 'before'],
    )
    assert.equal(said, ['undone', 'no', 'after'])
  })

  onDb('undoes a failed attempt that was the first thing of its job', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    await db.transact(async (tx) => {
      await failure(() =>
        tx.attempt(async () => {
          await TOY.insert(tx, toy('inside'))
          throw new Error('no')
        }),
      )
      await TOY.insert(tx, toy('after'))
    })
    assert.equal(await db.all('select id from toy_item'), [{ id: 'after' }])
  })

  onDb('undoes the whole job when it throws after a successful attempt', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const error = await failure(() =>
      db.transact(async (tx) => {
        await tx.attempt(() => TOY.insert(tx, toy('inside')))
        throw new Error('later')
      }),
    )
    assert.is(error?.message, 'later')
    assert.equal(await db.get(COUNT), { count: 0 })
  })

  onDb('undoes a job that takes longer than it asked for', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const error = await failure(() =>
      db.transact(async (tx) => {
        await TOY.insert(tx, toy('slow'))
        await new Promise(() => undefined)
      }, 100),
    )
    assert.match(error?.message ?? '', /not over after 100 ms/)
    await db.transact((tx) => TOY.insert(tx, toy('next')), 5_000)
    assert.equal(await db.all('select id from toy_item'), [{ id: 'next' }])
  })

  onDb('refuses statements of a transaction that is over', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const tx = await db.transact(async (inner) => ({ inner }))
    assert.match((await failure(() => TOY.insert(tx.inner, toy('late'))))?.message ?? '', /over/)
    assert.equal(await db.get(COUNT), { count: 0 })
  })

  onDb('loses no update of two instances that count the same row', async (one, box) => {
    await one.migrate('toy', TOY_MIGRATIONS)
    await one.transact((tx) => TOY.insert(tx, toy('counter', 0)))
    const two = await box.open()
    const add = (db: typeof one): Promise<void> =>
      db.transact(async (tx) => {
        const row = await TOY.find(tx, { id: 'counter' })
        await TOY.put(tx, toy('counter', (row?.n ?? 0) + 1))
      })
    await Promise.all(Array.from({ length: 100 }, (_, index) => add(index % 2 === 0 ? one : two)))
    assert.is((await TOY.find(one, { id: 'counter' }))?.n, 100)
  })

  onDb('finishes what waits when it is closed and refuses what comes later', async (db, box) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const waiting = db.transact((tx) => TOY.insert(tx, toy('a')))
    const closing = db.close()
    assert.is((await failure(() => db.transact((tx) => TOY.insert(tx, toy('b')))))?.code, 'store_unavailable')
    await Promise.all([waiting, closing])
    const again = await box.open()
    assert.equal(await again.all('select id from toy_item'), [{ id: 'a' }])
  })
}).run()
