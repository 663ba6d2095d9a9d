import { assert } from '@steeple/testkit'
import { failure, onEachStore, opened, TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'

const TABLE =
  'create table val_row (id text not null primary key, small integer, big bigint, real double precision, blob bytea)'
const INSERT = 'insert into val_row (id, small, big, real, blob) values (:id, :small, :big, :real, :blob)'
const FIND = 'select id, small, big, real, blob from val_row where id = :id and (id = :id or big = :big)'

onEachStore('store/values', (test, store) => {
  const onDb = opened(test, store)
  onDb('gives back what was stored, alike in both dialects', async (db) => {
    await db.migrate('val', [{ id: '0001_row', up: [TABLE] }])
    const row = {
      id: `quo'te "ü" \u{1F4F6}`,
      small: -2_147_483_648,
      big: Number.MAX_SAFE_INTEGER,
      real: 0.1,
      blob: new Uint8Array([0, 255, 39]),
    }
    await db.transact((tx) => tx.run(INSERT, row))
    const found = await db.get<typeof row>(FIND, { id: row.id, big: 1 })
    assert.equal({ ...found, blob: [...(found?.blob ?? [])] }, { ...row, blob: [0, 255, 39] })
    const empty = { id: '', small: null, big: null, real: null, blob: null }
    await db.transact((tx) => tx.run(INSERT, empty))
    assert.equal({ ...(await db.get<object>(FIND, { id: '', big: 1 })) }, empty)
    assert.equal(await db.get('select sum(big) as total, count(*) as count from val_row'), {
      total: Number.MAX_SAFE_INTEGER,
      count: 2,
    })
    assert.is(await db.get(FIND, { id: 'none', big: 1 }), undefined)
  })

  onDb('says how many rows a statement changed', async (db) => {
    await db.migrate('val', [{ id: '0001_row', up: [TABLE] }])
    const changed = await db.transact(async (tx) => {
      for (const id of ['a', 'b']) await tx.run(INSERT, { id, small: 1, big: 1, real: 1, blob: null })
      return tx.run('update val_row set small = :small where big = :big', { small: 2, big: 1 })
    })
    assert.is(changed, 2)
  })

  onDb('serves a row whose text was not well-formed', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    await db.transact((tx) => TOY.insert(tx, toy('a', 1, 'half \ud83d')))
    assert.is((await TOY.find(db, { id: 'a' }))?.label, 'half \ufffd')
  })

  onDb('names a parameter that got no value', async (db) => {
    assert.match((await failure(() => db.get('select :a as a', { b: 1 })))?.message ?? '', /:a/)
  })

  onDb('refuses SQL that the dialects read differently', async (db) => {
    for (const sql of [
      'select 1 -- why',
      'select /* why */ 1',
      'select ?',
      'select `a`',
      'select [a]',
      "select ':a', :a",
    ])
      assert.ok(await failure(() => db.get(sql, { a: 1 })), sql)
  })

  onDb('answers a probe', async (db) => {
    assert.is(await db.probe(), undefined)
  })
}).run()
