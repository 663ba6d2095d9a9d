import { defineTable, type Table, withoutOctets } from '@steeple/contracts'
import { assert } from '@steeple/testkit'
import { failure, onEachStore } from '../src/testing/index.ts'

interface Box {
  readonly id: string
  readonly sealed: Uint8Array
  readonly size: number
  readonly mac: Uint8Array | null
}
const MIGRATIONS = [
  {
    id: '0001_box',
    up: [
      'create table toy_box (id text not null primary key, sealed bytea not null, size bigint not null, mac bytea, row_sum bigint not null)',
    ],
  },
]
const COLUMNS = ['id', 'sealed', 'size', 'mac'] as const
const boxes = (): Table<Box> => defineTable<Box>('toy_box', COLUMNS, ['id'])
const box = (id: string, sealed: readonly number[], mac: readonly number[] | null): Box => ({
  id,
  sealed: Uint8Array.from(sealed),
  size: 2 ** 40,
  mac: mac === null ? null : Uint8Array.from(mac),
})

onEachStore('store/table-view', (test, store) => {
  test('shows rows without their octets', async () => {
    await using held = await store()
    const db = await held.open()
    const table = boxes()
    const view = withoutOctets(table, ['sealed', 'mac'])
    await db.migrate('toy', MIGRATIONS, [table])
    const rows = [box('a', [0, 1, 254, 255], null), box('b', [], [7]), box('c', [9], [])]
    for (const row of rows) await db.transact((tx) => table.insert(tx, row))
    const shown = rows.map(({ id, size }) => ({ id, size }))
    assert.equal([...(await view.select(db, 'where size > :size order by id', { size: 1 }))], shown)
    assert.equal(await view.find(db, { id: 'b' }), shown[1])
    assert.is(await view.find(db, { id: 'd' }), undefined)
    assert.equal(await db.transact((tx) => view.find(tx, { id: 'a' })), shown[0])
  })

  test('takes no row whose octets are others than were written', async () => {
    await using held = await store()
    const db = await held.open()
    const table = boxes()
    const view = withoutOctets(table, ['sealed', 'mac'])
    await db.migrate('toy', MIGRATIONS, [table])
    await db.transact((tx) => table.insert(tx, box('a', [1, 2], null)))
    await db.transact((tx) => table.insert(tx, box('b', [1, 2], [3])))
    const changes = ['sealed = :octets', 'mac = :octets', 'mac = null', 'size = 1']
    for (const change of changes) {
      const octets = Uint8Array.of(1, 3)
      await db.transact((tx) => table.put(tx, box('b', [1, 2], [3])))
      await db.transact((tx) =>
        tx.run(`update toy_box set ${change} where id = 'b'`, change.includes(':octets') ? { octets } : {}),
      )
      for (const read of [() => view.find(db, { id: 'b' }), () => view.select(db, 'order by id')])
        assert.is((await failure(read))?.code, 'store_corrupt', change)
    }
    assert.ok(await view.find(db, { id: 'a' }))
  })

  test('shows rows of a later version, and finds what was flipped in what that has added', async () => {
    await using held = await store()
    const db = await held.open()
    const [older, back] = [boxes(), boxes()]
    const view = withoutOctets(back, ['sealed'])
    interface Grown extends Box {
      readonly more: Uint8Array
    }
    const grown = defineTable<Grown>('toy_box', [...COLUMNS, 'more'], ['id'])
    await db.migrate('toy', MIGRATIONS, [older])
    const next = [...MIGRATIONS, { id: '0002_more', up: ['alter table toy_box add column more bytea'] }]
    await db.migrate('toy', next, [grown])
    await db.transact((tx) => grown.insert(tx, { ...box('a', [5], [6]), more: Uint8Array.of(8) }))
    const first = await view.find(db, { id: 'a' })
    await failure(() => db.migrate('toy', MIGRATIONS, [back]))
    assert.equal(back.stored, grown.columns)
    for (const found of [first, await view.find(db, { id: 'a' })])
      assert.equal({ ...found, mac: [...(found?.mac ?? [])] }, { id: 'a', size: 2 ** 40, mac: [6] })
    await db.transact((tx) => tx.run('update toy_box set more = :more', { more: Uint8Array.of(9) }))
    assert.is((await failure(() => view.find(db, { id: 'a' })))?.code, 'store_corrupt')
  })
}).run()
