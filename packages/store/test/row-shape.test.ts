import { defineTable, type Migration, type Table } from '@steeple/contracts'
import { assert } from '@steeple/testkit'
import { scanIntegrity } from '../src/scan-memory.ts'
import { failure, onEachStore, opened, TOY, TOY_MIGRATIONS, type ToyRow, toy } from '../src/testing.ts'
import { coloured, migrations as nextVersion } from './row-step.ts'

/** Each version of the plugin has a table object of its own. */
const older = (): Table<ToyRow> => defineTable<ToyRow>('toy_item', TOY.columns, TOY.key)

const ROWS = 450

onEachStore('store/row shape', (test, store) => {
  const onDb = opened(test, store)
  test('reads rows from before a column was added, and back after a roll-back', async () => {
    await using box = await store()
    const [first, next, back] = [older(), coloured(), older()]
    const db = await box.open()
    await db.migrate('toy', TOY_MIGRATIONS, [first])
    await db.transact((tx) => first.insert(tx, toy('a', 1)))
    await db.migrate('toy', nextVersion(undefined, next), [next])
    assert.equal(await next.find(db, { id: 'a' }), { ...toy('a', 1), colour: 'c1' })
    await db.transact((tx) => next.insert(tx, { ...toy('b', 2), colour: 'red' }))
    await failure(() => db.migrate('toy', TOY_MIGRATIONS, [back]))
    assert.equal(await back.select(db, 'order by id'), [toy('a', 1), toy('b', 2)])
    await db.transact((tx) => back.put(tx, toy('b', 3)))
    assert.equal(await next.find(db, { id: 'b' }), { ...toy('b', 3), colour: 'red' })
    for (const spec of [first, next, back]) assert.is((await scanIntegrity(db, [spec])).ok, true)
  })

  test('changes what differs alone, with a sum over all, also after a roll-back', async () => {
    await using box = await store()
    const [first, next, back] = [older(), coloured(), older()]
    const db = await box.open()
    await db.migrate('toy', TOY_MIGRATIONS, [first])
    await db.transact((tx) => first.insert(tx, toy('a', 1, 'x')))
    const change = <Row extends ToyRow>(table: Table<Row>, to: ToyRow): Promise<boolean> =>
      db.transact(async (tx) => {
        const before = await table.find(tx, { id: 'a' })
        return before !== undefined && (await table.change(tx, before, { ...before, ...to }))
      })
    assert.ok(await change(first, toy('a', 2, 'x')))
    assert.equal(await first.find(db, { id: 'a' }), toy('a', 2, 'x'))
    assert.ok(await change(first, toy('a', 2, null)))
    assert.ok(await change(first, toy('a', 2, null)), 'nothing differs')
    await db.migrate('toy', nextVersion(undefined, next), [next])
    // A row whose added column has what its migration gave it, which no sum covers yet.
    assert.ok(await change(next, toy('a', 3)))
    assert.equal(await next.find(db, { id: 'a' }), { ...toy('a', 3), colour: 'c2' })
    await failure(() => db.migrate('toy', TOY_MIGRATIONS, [back]))
    assert.ok(await change(back, toy('a', 4, 'y')))
    assert.equal(await back.find(db, { id: 'a' }), toy('a', 4, 'y'))
    for (const spec of [first, next, back]) assert.is((await scanIntegrity(db, [spec])).ok, true)
    assert.not.ok(await db.transact((tx) => back.change(tx, toy('none', 1), toy('none', 2))))
  })

  onDb('changes a row that was read before only while a column is what it was', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS, [TOY])
    await db.transact((tx) => TOY.insert(tx, toy('a', 1, 'x')))
    const seen = await TOY.find(db, { id: 'a' })
    if (seen === undefined) throw new Error('there is a row')
    const swap = (to: number) => db.transact((tx) => TOY.swap(tx, seen, { ...seen, n: to, label: null }, 'n'))
    assert.equal(await Promise.all([swap(2), swap(3)]), [true, false])
    assert.equal(await TOY.find(db, { id: 'a' }), toy('a', 2, null))
    assert.not.ok(await db.transact((tx) => TOY.swap(tx, toy('none', 1), toy('none', 2), 'n')))
  })

  test('finds a flipped byte in an added column, also after a roll-back', async () => {
    await using box = await store()
    const [next, back] = [coloured(), older()]
    const db = await box.open()
    await db.migrate('toy', nextVersion(undefined, next), [next])
    await db.transact((tx) => next.insert(tx, { ...toy('a'), colour: 'red' }))
    await failure(() => db.migrate('toy', TOY_MIGRATIONS, [back]))
    await box.raw("update toy_item set colour = 'rad'")
    for (const table of [next, back])
      assert.match((await failure(() => table.find(db, { id: 'a' })))?.message ?? '', /toy_item/)
    assert.is((await scanIntegrity(db, [back])).problems.length, 1)
  })

  onDb('goes on with a step over rows where it was cut off', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS, [older()])
    await db.transact(async (tx) => {
      for (let n = 0; n < ROWS; n++) await TOY.insert(tx, toy(`r${String(n).padStart(4, '0')}`, n))
    })
    const table = coloured()
    let batches = 0
    const breaksOff = nextVersion(() => {
      batches += 1
      if (batches === 2) throw new Error('cut off')
    }, table)
    assert.match((await failure(() => db.migrate('toy', breaksOff, [table])))?.message ?? '', /cut off/)
    const half = await table.select(db, 'where colour is not null')
    assert.ok(half.length > 0 && half.length < ROWS, 'one batch of them is kept')
    await db.migrate('toy', nextVersion(undefined, table), [table])
    const all = await table.select(db, 'where colour is not null')
    assert.equal([all.length, all.every((row) => row.colour === `c${row.n}`)], [ROWS, true])
  })

  test('brings rows up that an older version has written beside it and after a roll-back', async () => {
    await using box = await store()
    const [first, next] = [older(), coloured()]
    const db = await box.open()
    await db.migrate('toy', TOY_MIGRATIONS, [first])
    let batches = 0
    const migrations = nextVersion(() => {
      batches += 1
    }, next)
    const upgrade = (): Promise<void> => db.migrate('toy', migrations, [next])
    await upgrade()
    await db.transact((tx) => first.insert(tx, toy('beside', 1)))
    await upgrade()
    await upgrade()
    await upgrade()
    await failure(() => db.migrate('toy', TOY_MIGRATIONS, [first]))
    await db.transact((tx) => first.insert(tx, toy('behind', 2)))
    await upgrade()
    const found = await next.select(db, 'order by id')
    assert.equal(
      found.map((row) => [row.id, row.colour]),
      [
        ['behind', 'c2'],
        ['beside', 'c1'],
      ],
    )
    assert.is(batches, 2, 'nothing is done twice')
  })

  test('leaves a damaged row as it is and brings up the others', async () => {
    await using box = await store()
    const table = coloured()
    const db = await box.open()
    await db.migrate('toy', TOY_MIGRATIONS, [TOY])
    await db.transact(async (tx) => {
      for (const id of ['a', 'b', 'c']) await TOY.insert(tx, toy(id, 1))
    })
    await box.raw("update toy_item set n = 9 where id = 'b'")
    await db.migrate('toy', nextVersion(undefined, table), [table])
    assert.equal(
      (await table.sound(db, 'order by id')).rows.map(({ id, colour }) => [id, colour]),
      [
        ['a', 'c1'],
        ['c', 'c1'],
      ],
    )
    assert.equal(await db.all('select n, colour from toy_item where id = :id', { id: 'b' }), [
      { n: 9, colour: null },
    ])
  })

  onDb('refuses columns that are not those of before with new ones behind them', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS, [TOY])
    for (const columns of [
      ['id', 'colour', 'n', 'label'],
      ['id', 'label', 'n'],
    ]) {
      const spec = { name: 'toy_item', columns, key: ['id'] }
      const error = await failure(() => db.migrate('toy', TOY_MIGRATIONS, [spec]))
      assert.match(
        error?.message ?? '',
        /toy lists the columns of toy_item as .*rows are stored with id, n, label/,
      )
    }
    await db.migrate('toy', TOY_MIGRATIONS, [older()])
  })

  onDb('refuses an added column that older code could not write rows without', async (db) => {
    const adds = (column: string): readonly Migration[] => [
      ...TOY_MIGRATIONS,
      { id: '0002_more', up: [`alter table toy_item add column ${column}`] },
    ]
    const error = await failure(() => db.migrate('toy', adds('size bigint not null')))
    assert.match(error?.message ?? '', /older code writes rows without it/)
    await db.migrate('toy', adds('size bigint not null default 5'))
    await db.transact((tx) => TOY.insert(tx, toy('a')))
    assert.equal(await db.get('select size from toy_item'), { size: 5 })
  })
}).run()
