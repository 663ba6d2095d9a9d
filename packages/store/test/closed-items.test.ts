import { assert, fakeClock } from '@steeple/testkit'
import { CLOSED, CLOSED_DDL, closedItems, closeItems } from '../src/closed-items.ts'
import { onEachStore } from '../src/testing.ts'

onEachStore('store/closed-items', (test, store) => {
  test('tells what is closed until it is reopened or over', async () => {
    await using box = await store()
    const db = await box.open()
    await db.migrate('kernel', [{ id: '0001_closed', up: [CLOSED_DDL] }], [CLOSED])
    const clock = fakeClock(1_000)
    const items = closedItems(db, clock)
    const own = db.scoped('kernel')
    assert.equal([...(await items.among('code', ['a']))], [])
    const all = ['a', 'b', 'c'].map((id) => ({ kind: 'code', id, untilMs: 5_000 }))
    await db.transact((tx) => closeItems(tx, [...all, { kind: 'guest', id: 'a' }], 1_000))
    assert.equal([...(await items.among('code', ['a', 'x', 'c']))], ['a', 'c'])
    assert.equal(await items.kinds(), [
      { kind: 'code', items: 3, closedAtMs: 1_000 },
      { kind: 'guest', items: 1, closedAtMs: 1_000 },
    ])
    const page = await items.list(2, { kind: 'code', id: 'b' })
    assert.equal(page, [
      { kind: 'code', id: 'c', untilMs: 5_000 },
      { kind: 'guest', id: 'a' },
    ])
    assert.equal((await items.list(9, { kind: '', id: '' }, 'guest')).length, 1)
    assert.is(await own.write((tx) => items.reopen(tx, 'code', ['a', 'x'])), 1)
    assert.equal([...(await items.among('code', ['a', 'b']))], ['b'])
    await clock.advance(4_000)
    assert.equal(
      (await items.kinds()).map(({ kind }) => kind),
      ['guest'],
    )
    await own.write((tx) => items.sweep(tx))
    assert.equal(
      (await own.all<{ kind: string }>('select kind from kernel_closed')).map(({ kind }) => kind),
      ['guest'],
    )
    assert.is(await own.write((tx) => items.reopen(tx, 'guest')), 1)
    assert.equal(await items.kinds(), [])
    await db.close()
  })
}).run()
