import { assert } from '@steeple/testkit'
import { failure, onEachStore, opened, TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'

onEachStore('store/scoped-db', (test, store) => {
  const onDb = opened(test, store)
  onDb('reads and writes the tables of its owner alone', async (db, box) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const own = db.scoped('toy')
    const other = db.scoped('other')
    assert.is(own.dialect, box.dialect)
    await own.write((tx) => TOY.insert(tx, toy('a')))
    assert.equal(await TOY.find(own, { id: 'a' }), toy('a'))
    assert.match(
      (await failure(() => TOY.find(other, { id: 'a' })))?.message ?? '',
      /plugin other may not touch the table toy_item/,
    )
    assert.ok(await failure(() => other.all('select id from toy_item')))
    assert.ok(await failure(() => other.write((tx) => tx.get('select id from toy_item'))))
    assert.ok(await failure(() => other.write((tx) => tx.run('delete from toy_item'))))
    assert.ok(await failure(() => own.all('select owner from kernel_migration')))
    assert.is((await own.all('select id from toy_item')).length, 1)
  })

  onDb('refuses what it may not touch as it refuses all else: by its promise', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    const other = db.scoped('other')
    const refused = [other.get('select id from toy_item'), other.all('select id from toy_item')]
    const inside = other.write(async (tx) => {
      const asked = [tx.get('select id from toy_item'), tx.run('delete from toy_item')]
      return (await Promise.allSettled(asked)).map(({ status }) => status)
    })
    assert.equal(
      (await Promise.allSettled(refused)).map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    assert.equal(await inside, ['rejected', 'rejected'])
  })

  onDb('lets a service join the transaction of another plugin with its own tables', async (db) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    await db.migrate('other', [
      { id: '0001_row', up: ['create table other_row (id text not null primary key)'] },
    ])
    const own = db.scoped('toy')
    const other = db.scoped('other')
    const error = await failure(() =>
      other.write(async (tx) => {
        await tx.run('insert into other_row (id) values (:id)', { id: 'x' })
        await TOY.insert(own.join(tx), toy('a'))
        await TOY.insert(tx, toy('b'))
      }),
    )
    assert.match(error?.message ?? '', /may not touch/)
    assert.equal(await own.all('select id from toy_item'), [])
    await other.write(async (tx) => {
      await tx.run('insert into other_row (id) values (:id)', { id: 'x' })
      await TOY.insert(own.join(tx), toy('a'))
    })
    assert.equal(await own.all('select id from toy_item'), [{ id: 'a' }])
    assert.equal(await other.all('select id from other_row'), [{ id: 'x' }])
  })
}).run()
