import { defineTable, type KnownRow, knownRows, type Table } from '@steeple/contracts'
import { assert } from '@steeple/testkit'
import { failure, onEachStore } from '../src/testing/index.ts'

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
const known = (table: Table<Box>) => knownRows<Box, 'sealed' | 'mac', string>(table, ['sealed', 'mac'])
const TEXTS = [
  null,
  '',
  'plain',
  '"quoted", \\ and / and ]',
  'tab\t line\n \u0001 \u001f \u007f',
  'é ü 漢字 \u2028 🜁',
]

onEachStore('store/known-rows', (test, store) => {
  test('shows rows with whatever their texts hold, without their octets', async () => {
    await using held = await store()
    const db = await held.open()
    const table = boxes()
    await db.migrate('toy', MIGRATIONS, [table])
    const rows = TEXTS.map((note, n) => box(`box-${n}`, note))
    for (const row of rows) await db.transact((tx) => table.insert(tx, row))
    const shown = rows.map(({ id, size, note }) => ({ id, size, note }))
    const view = known(table)
    for (let round = 0; round < 4; round++) {
      const found = await view.select(db, 'where size > :size order by id', { size: 1 })
      assert.equal(
        found.map(({ row }) => row),
        shown,
      )
      assert.equal((await view.find(db, { id: 'box-3' }))?.row, shown[3])
      assert.is(await view.find(db, { id: 'box' }), undefined)
    }
  })

  test('gives a row that is read often with what was made of it, until anything of it changes', async () => {
    await using held = await store()
    const [db, other] = [await held.open(), await held.open()]
    const table = boxes()
    await db.migrate('toy', MIGRATIONS, [table])
    await db.transact((tx) => table.insert(tx, box('a')))
    const view = known(table)
    const read = async (): Promise<KnownRow<{ readonly note: string | null }, string> | undefined> =>
      await view.find(db, { id: 'a' })
    await read()
    const first = await read()
    assert.ok(first)
    first.made = 'made'
    assert.is((await read())?.made, 'made')
    assert.is((await view.select(db, 'order by id'))[0]?.row, first.row)
    // Another instance, whose writes nobody tells us of.
    const changes: readonly Box[] = [
      box('a', 'noted'),
      { ...box('a'), mac: Uint8Array.of(1) },
      { ...box('a'), sealed: Uint8Array.of(0, 171, 254) },
    ]
    for (const change of changes) {
      await other.transact((tx) => table.put(tx, change))
      const changed = await read()
      assert.is(changed?.made, undefined)
      assert.is(changed?.row.note, change.note)
      await other.transact((tx) => table.put(tx, box('a')))
      assert.is((await read())?.made, 'made', 'the row of before')
    }
    await other.transact((tx) => table.remove(tx, { id: 'a' }))
    assert.is(await read(), undefined)
  })

  test('finds damage in a row that it knows', async () => {
    await using held = await store()
    const db = await held.open()
    const table = boxes()
    await db.migrate('toy', MIGRATIONS, [table])
    await db.transact((tx) => table.insert(tx, box('sound')))
    const view = known(table)
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
      for (let round = 0; round < 3; round++) await view.select(db, 'order by id')
      await held.raw(`update toy_box set ${change} where id = 'a'`)
      assert.is((await failure(() => view.select(db, 'order by id')))?.code, 'store_corrupt', change)
      if (!change.startsWith('id'))
        assert.is((await failure(() => view.find(db, { id: 'a' })))?.code, 'store_corrupt', change)
      assert.ok(await view.find(db, { id: 'sound' }))
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
    const later = knownRows<Grown, 'sealed' | 'mac' | 'more', string>(grown, ['sealed', 'mac', 'more'])
    await failure(() => db.migrate('toy', MIGRATIONS, [back]))
    for (let round = 0; round < 3; round++)
      for (const view of [later, known(back)])
        assert.equal(
          (await view.select(db, 'order by id')).map(({ row }) => row.id),
          ['new', 'old'],
        )
    await held.raw("update toy_box set more = sealed where id = 'new'")
    for (const view of [later, known(back)])
      assert.is((await failure(() => view.find(db, { id: 'new' })))?.code, 'store_corrupt')
  })
}).run()
