import type { Tx } from '@steeple/contracts'
import { assert } from '@steeple/testkit'
import { failure, onEachStore, opened, TOY_MIGRATIONS } from '../src/testing.ts'

const SECOND = {
  id: '0002_more',
  up: ['alter table toy_item add column extra text', 'create index toy_item_n on toy_item (n)'],
}

onEachStore('store/migrate', (test, store) => {
  const onDb = opened(test, store)
  onDb('runs each migration once and adds new ones later', async (db, box) => {
    await db.migrate('toy', TOY_MIGRATIONS)
    await db.migrate('toy', TOY_MIGRATIONS)
    await box.clock.advance(1_000)
    await db.migrate('toy', [...TOY_MIGRATIONS, SECOND])
    assert.equal(await db.all('select owner, id, at from kernel_migration order by id'), [
      { owner: 'toy', id: '0001_item', at: Date.UTC(2026, 0, 1) },
      { owner: 'toy', id: '0002_more', at: Date.UTC(2026, 0, 1) + 1_000 },
    ])
    assert.equal(await db.all('select extra from toy_item'), [])
  })

  onDb('refuses a database that a newer version has written', async (db) => {
    await db.migrate('toy', [...TOY_MIGRATIONS, SECOND])
    const error = await failure(() => db.migrate('toy', TOY_MIGRATIONS))
    assert.is(error?.code, 'store_invalid')
    assert.match(error?.message ?? '', /newer version of toy \(0002_more\)/)
    await db.migrate('other', [])
  })

  onDb('refuses a migration that comes before one that has run', async (db) => {
    await db.migrate('toy', [{ id: '0002_item', up: TOY_MIGRATIONS[0]?.up ?? [] }])
    const late = [
      { id: '0001_late', up: [] },
      { id: '0002_item', up: [] },
    ]
    assert.match(
      (await failure(() => db.migrate('toy', late)))?.message ?? '',
      /0001_late of toy must run before 0002_item/,
    )
  })

  onDb(
    'runs what the kernel adds to a migration in its transaction, and nothing that a plugin adds',
    async (db) => {
      const finish = async (tx: Tx): Promise<void> => {
        await tx.run("insert into kernel_note values ('a')")
      }
      const up = ['create table kernel_note (text text not null unique)']
      await db.migrate('kernel', [{ id: '0001_note', up, finish }])
      assert.equal(await db.all('select text from kernel_note'), [{ text: 'a' }])
      assert.ok(
        await failure(() =>
          db.migrate('kernel', [
            { id: '0001_note', up, finish },
            { id: '0002_note', up: ['create table kernel_other (id text)'], finish },
          ]),
        ),
      )
      assert.ok(await failure(() => db.get('select id from kernel_other')))
      const adding = { id: '0001_item', up: TOY_MIGRATIONS[0]?.up ?? [], finish }
      await db.migrate('toy', [adding])
      assert.equal(await db.all('select text from kernel_note'), [{ text: 'a' }])
    },
  )

  onDb('undoes a migration that fails half way and names nothing as done', async (db) => {
    const broken = {
      id: '0001_broken',
      up: ['create table toy_a (id text)', 'create index toy_b on toy_missing (id)'],
    }
    assert.ok(await failure(() => db.migrate('toy', [broken])))
    assert.equal(await db.all("select id from kernel_migration where owner = 'toy'"), [])
    assert.ok(await failure(() => db.get('select id from toy_a')))
    await db.migrate('toy', [{ id: '0001_broken', up: ['create table toy_a (id text)'] }])
    assert.equal(await db.all('select id from toy_a'), [])
  })

  onDb('refuses steps that are not additive or not about own tables', async (db) => {
    const steps = [
      'drop table toy_item',
      'delete from toy_item',
      'alter table toy_item drop column n',
      'alter table toy_item rename to toy_other',
      'alter table toy_item add column a text, drop column n',
      'create table other_item (id text)',
      'create table toyother (id text)',
      'create table main.toy_item (id text)',
      'create table toy_a (id text references other_item (id))',
      'create index other_index on toy_item (n)',
      'create index toy_index on other_item (n)',
      'create trigger toy_t before insert on toy_item begin select 1; end',
      'create table toy_a (id text); drop table toy_item',
      'create view toy_v as select 1',
      'create table toy_a as select * from other_item',
      'create table toy_a(id) as select id from other_item',
    ]
    for (const step of steps) {
      const error = await failure(() => db.migrate('toy', [{ id: '0001_step', up: [step] }]))
      assert.is(error?.code, 'store_invalid', step)
    }
  })

  test('lets two instances start at the same time', async () => {
    await using box = await store()
    const [one, two] = [await box.open(), await box.open()]
    await Promise.all([one.migrate('toy', TOY_MIGRATIONS), two.migrate('toy', TOY_MIGRATIONS)])
    assert.equal(await two.all('select id from kernel_migration'), [{ id: '0001_item' }])
  })
}).run()
