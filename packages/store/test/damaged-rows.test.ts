import { defineTable, type Table } from '@steeple/contracts'
import { assert } from '@steeple/testkit'
import { failure, onEachStore } from '../src/testing.ts'

interface Box {
  readonly id: string
  readonly sealed: Uint8Array
  readonly size: number
  readonly note: string | null
  readonly mac: Uint8Array | null
}
const MIGRATIONS = [
  {
    id: '0001_box',
    up: [
      'create table toy_box (id text not null primary key, sealed bytea not null, size bigint not null, note text, mac bytea, row_sum bigint not null)',
    ],
  },
]
const COLUMNS = ['id', 'sealed', 'size', 'note', 'mac'] as const
const boxes = (): Table<Box> => defineTable<Box>('toy_box', COLUMNS, ['id'])
const box = (id: string, note: string | null = null): Box => ({
  id,
  sealed: Uint8Array.of(0, 171, 255),
  size: 2 ** 40,
  note,
  mac: null,
})

onEachStore('store/damaged-rows', (test, store) => {
  test('finds damage in a row', async () => {
    await using held = await store()
    const db = await held.open()
    const table = boxes()
    await db.migrate('toy', MIGRATIONS, [table])
    await db.transact((tx) => table.insert(tx, box('sound')))
    const damage = [
      "id = 'b'",
      'sealed = sealed || sealed',
      'mac = sealed',
      'size = size + 1',
      "note = 'x'",
      'row_sum = row_sum + 1',
      // SQLite takes any value in any column, and so does a flipped bit.
      ...(held.dialect === 'sqlite'
        ? ["note = x'6162'", "sealed = '0'", "size = '1'", "row_sum = 'sum'"]
        : []),
    ]
    for (const change of damage) {
      await db.transact((tx) => table.put(tx, box('a')))
      await held.raw(`update toy_box set ${change} where id = 'a'`)
      assert.is((await failure(() => table.select(db, 'order by id')))?.code, 'store_corrupt', change)
      if (!change.startsWith('id'))
        assert.is((await failure(() => table.find(db, { id: 'a' })))?.code, 'store_corrupt', change)
      assert.ok(await table.find(db, { id: 'sound' }))
      await held.raw("delete from toy_box where id in ('a', 'b')")
    }
  })

  test('shows rows of an earlier version, and those of a later one', async () => {
    await using held = await store()
    const db = await held.open()
    interface Grown extends Box {
      readonly more: Uint8Array | null
    }
    const back = boxes()
    const grown = defineTable<Grown>('toy_box', [...COLUMNS, 'more'], ['id'])
    await db.migrate('toy', MIGRATIONS, [back])
    await db.transact((tx) => back.insert(tx, box('old', 'before')))
    const next = [...MIGRATIONS, { id: '0002_more', up: ['alter table toy_box add column more bytea'] }]
    await db.migrate('toy', next, [grown])
    await db.transact((tx) => grown.insert(tx, { ...box('new'), more: Uint8Array.of(8) }))
    await failure(() => db.migrate('toy', MIGRATIONS, [back]))
    for (const table of [grown, back])
      assert.equal(
        (await table.select(db, 'order by id')).map(({ id }) => id),
        ['new', 'old'],
      )
    await held.raw("update toy_box set more = sealed where id = 'new'")
    for (const table of [grown, back])
      assert.is((await failure(() => table.find(db, { id: 'new' })))?.code, 'store_corrupt')
  })
}).run()
