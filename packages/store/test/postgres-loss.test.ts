import { assert, eventually } from '@steeple/testkit'
import { openDatabase } from '../src/open.ts'
import { failure, onPostgres, TOY, TOY_MIGRATIONS, toy } from '../src/testing/index.ts'

onPostgres('store/connection-loss', (test, store) => {
  test('reads and writes again by itself after the server has cut the connections', async () => {
    await using box = await store()
    const db = await box.open()
    await db.migrate('toy', TOY_MIGRATIONS)
    await db.transact((tx) => TOY.insert(tx, toy('a')))
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where pid <> pg_backend_pid() and application_name = '${new URL(box.url).searchParams.get('application_name')}'`
    const error = await failure(() =>
      db.transact(async (tx) => {
        await TOY.insert(tx, toy('lost'))
        await box.raw(cut)
        await TOY.insert(tx, toy('lost too'))
      }),
    )
    assert.is(error?.code, 'store_unavailable')
    await eventually(() => db.transact((tx) => TOY.insert(tx, toy('b'))))
    assert.equal(await db.all('select id from toy_item order by id'), [{ id: 'a' }, { id: 'b' }])
  })

  test('says that the store does not answer while there is no server', async () => {
    await using box = await store()
    const nowhere = new URL(box.url)
    nowhere.port = '1'
    const quiet = (): void => undefined
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
    const db = await openDatabase({ url: nowhere.href, clock: box.clock, log })
    assert.is((await failure(() => db.get('select 1 as one')))?.code, 'store_unavailable')
    assert.is((await failure(() => db.transact(async () => 1)))?.code, 'store_unavailable')
    assert.match((await db.probe()) ?? '', /does not answer/)
    await db.close()
  })
}).run()
