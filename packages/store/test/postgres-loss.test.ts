import { connect, createServer, type Socket } from 'node:net'
import { assert, eventually, listen, stretched } from '@steeple/testkit'
import { openDatabase } from '../src/open.ts'
import { failure, onPostgres, TOY, TOY_MIGRATIONS, toy } from '../src/testing.ts'

/** A simple query of PostgreSQL's protocol, version 3: Q, its length, the text. */
const COMMIT = Buffer.from('Q\0\0\0\x0bcommit\0', 'latin1')

/** A way to the server on which, while it is mute, the answers end with a commit, as they do when that waits for a standby. */
async function muteWay(to: string) {
  const target = new URL(to)
  const place = { port: Number(target.port || 5_432), host: target.hostname }
  const sockets = new Set<Socket>()
  const way = {
    url: '',
    isMute: false,
    [Symbol.asyncDispose]: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  const server = createServer((client) => {
    const upstream = connect(place)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    client.on('data', (octets) => {
      if (way.isMute && octets.includes(COMMIT)) upstream.unpipe(client)
      upstream.write(octets)
    })
    upstream.pipe(client)
    client.on('close', () => upstream.destroy())
  })
  target.host = `127.0.0.1:${(await listen(server)).port}`
  return Object.assign(way, { url: target.href })
}

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

  test('does not say that a change was not kept when it cannot know, and answers in time', async () => {
    await using box = await store()
    await using way = await muteWay(box.url)
    const quiet = (): void => undefined
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
    const db = await openDatabase({ url: way.url, clock: box.clock, log })
    await db.migrate('toy', TOY_MIGRATIONS)
    way.isMute = true
    const begunMs = performance.now()
    const error = await failure(() => db.transact((tx) => TOY.insert(tx, toy('a'))))
    assert.is(error?.code, 'store_unavailable')
    assert.match(error?.message ?? '', /whether this change holds is not known/)
    assert.ok(performance.now() - begunMs < stretched(7_000))
    assert.match(db.writeTrouble() ?? '', /is not known/)
    way.isMute = false
    await eventually(() => db.transact((tx) => TOY.insert(tx, toy('b'))))
    assert.equal(await db.all('select id from toy_item order by id'), [{ id: 'a' }, { id: 'b' }])
    await db.close()
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
