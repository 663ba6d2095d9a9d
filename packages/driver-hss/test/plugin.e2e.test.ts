import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hssDriverRef } from '@steeple/contracts'
import { assert, eventually, fakeContext, patient, suite, unusedPort } from '@steeple/testkit'
import { driverOf } from '../src/drivers.ts'
import { plugin } from '../src/plugin.ts'
import { lookInto } from './support/database.ts'
import { makeDbctl, makeScript } from './support/dbctl-tool.ts'
import { sharedMongo, startMongo } from './support/mongo-server.ts'
import { subscriber } from './support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()
const pluginTests = suite('driver-hss/plugin')

async function setUp(hss: {
  driver: 'docdb_shell' | 'dbctl' | 'core_b' | 'none'
  mongo_url?: string
  engine_socket?: string
  dbctl_path?: string
}) {
  const fake = fakeContext({ id: 'driver-hss', config: undefined, settings: { hss, core: 'core_b' } })
  const instance = await plugin.setup(fake.context)
  // The service under its own ref.
  const driver = instance.services?.get(hssDriverRef.id) as import('@steeple/contracts').HssDriver
  return { fake, instance, driver }
}

pluginTests('writes nowhere with driver none, and says so', async () => {
  const { fake, instance, driver } = await setUp({ driver: 'none' })
  await instance.start?.()
  assert.is(driver.name, 'none')
  assert.equal([...(await driver.upsert([subscriber(1)], patient())).values()], [undefined])
  assert.is((await driver.observe([subscriber(1).imsi], patient())).size, 0)
  await eventually(async () => {
    const [health] = (await instance.health?.()) ?? []
    assert.is(health?.status, 'ok')
    assert.match(String(health?.detail), /none/)
  })
  await fake.dispose()
})

pluginTests('takes the database itself when its address is set, for both cores', async () => {
  const mongo = await sharedMongo()
  for (const [name, database, collection] of [
    ['docdb_shell', 'viaurl4', 'subscribers'],
    ['core_b', 'viaurl5', 'policyData.ues.amData'],
  ] as const) {
    const look = await lookInto(mongo.url(database))
    const { fake, instance, driver } = await setUp({ driver: name, mongo_url: mongo.url(database) })
    await instance.start?.()
    assert.is(driver.name, name)
    // Whatever a driver can do is there for others, too.
    const own = driverOf(fake.context.settings).make(() => fake.context.settings)
    const kinds = (from: object): readonly string[] =>
      Object.keys(hssDriverRef.shape ?? {}).map((method) => `${method} ${typeof Reflect.get(from, method)}`)
    assert.equal(kinds(driver), kinds(own))
    await own.close()
    await driver.upsert([subscriber(1)], patient())
    assert.is(Number(await look.collection(collection).countDocuments()), 1)
    await eventually(async () => assert.is((await instance.health?.())?.[0]?.status, 'ok'))
    await fake.dispose()
    await look.close()
  }
})

pluginTests('starts while the other side is down, reports it, and counts what failed', async () => {
  const { fake, instance, driver } = await setUp({
    driver: 'docdb_shell',
    engine_socket: '/tmp/steeple-no-such.sock',
  })
  await instance.start?.()
  await eventually(async () => {
    const [health] = (await instance.health?.()) ?? []
    assert.is(health?.status, 'down')
    assert.match(String(health?.detail), /socket is missing/)
  })
  const one = subscriber(1)
  const error = await driver.upsert([one], patient()).then(
    () => undefined,
    (reason: Error) => reason,
  )
  assert.match(String(error?.message), /socket is missing/)
  const told = JSON.stringify([fake.logs, await instance.health?.(), error?.message, String(error?.stack)])
  for (const secret of [one.imsi, '02'.repeat(16), '66'.repeat(16)]) assert.not.match(told, secret)
  await fake.dispose()
})

pluginTests('gives its names to a tool at another path', async () => {
  const { fake, instance, driver } = await setUp({ driver: 'dbctl', dbctl_path: '/nowhere/dbctl' })
  await instance.start?.()
  assert.is(driver.name, 'dbctl')
  await eventually(async () => {
    assert.match(String((await instance.health?.())?.[0]?.detail), /\/nowhere\/dbctl/)
  })
  await fake.dispose()
})

pluginTests(
  'looks for the database behind a stock dbctl until it is there, and tells that it is',
  async () => {
    const stock = await makeDbctl('stock')
    const [isUp, port] = [`${stock.path}.up`, await unusedPort()]
    const late = await makeScript(
      `#!/bin/sh
[ -e '${isUp}' ] && exec '${stock.path}' "$@"
[ "$1" = help ] && exec '${stock.path}' help
echo "MongoNetworkError: connect ECONNREFUSED 127.0.0.1:${port}" >&2
`,
    )
    const { fake, instance, driver } = await setUp({ driver: 'dbctl', dbctl_path: late.path })
    const status = async () => (await instance.health?.())?.[0]?.status
    await instance.start?.()
    await eventually(async () => assert.is(await status(), 'down'))
    assert.equal(fake.changed, [])
    writeFileSync(isUp, '')
    const database = createServer((socket) => void socket.destroy()).listen(port, '127.0.0.1')
    await once(database, 'listening')
    // The next look is within a second and its jitter: a dial costs nothing.
    await fake.clock.advance(1_100)
    await eventually(async () => assert.equal([await status(), fake.changed], ['ok', [hssDriverRef.id]]))
    database.close()
    const one = subscriber(1)
    await eventually(async () => {
      assert.equal([...(await driver.upsert([one], patient())).values()], [undefined])
    })
    assert.ok((await driver.observe([one.imsi], patient())).has(one.imsi))
    await fake.dispose()
    for (const tool of [stock, late]) await tool.remove()
  },
)

pluginTests('is down, in the words of the tool, while the database behind a dbctl is', async () => {
  const say = 'echo "MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27017" >&2'
  const help = '[ "$1" = help ] && echo "   add_ue_with_apn {imsi}: adds"'
  const tool = await makeScript(`#!/bin/sh\n${help} || ${say}\n`)
  const { fake, instance, driver } = await setUp({ driver: 'dbctl', dbctl_path: tool.path })
  await instance.start?.()
  await eventually(async () => {
    const [health] = (await instance.health?.()) ?? []
    assert.is(health?.status, 'down')
    assert.match(
      String(health?.detail),
      /MongoNetworkError: connect ECONNREFUSED 127\.0\.0\.1:27017 \(away for/,
    )
  })
  const error = await driver.upsert([subscriber(1)], patient()).then(
    () => undefined,
    (reason: Error & { code?: string }) => reason,
  )
  assert.is(error?.code, 'southbound_unavailable')
  await fake.dispose()
  await tool.remove()
})

pluginTests(
  'keeps the first cause in view while the database is away, and tells that it is back',
  async () => {
    const port = await unusedPort()
    const url = `mongodb://127.0.0.1:${port}/late`
    const { fake, instance } = await setUp({ driver: 'docdb_shell', mongo_url: url })
    const shown = async () => (await instance.health?.())?.[0]
    await instance.start?.()
    await eventually(async () => {
      assert.is((await shown())?.status, 'down')
      assert.match(String((await shown())?.detail), /ECONNREFUSED.*away for \d+ s/)
    })
    assert.equal(fake.changed, [])
    const mongo = await startMongo(port)
    await eventually(async () => {
      await fake.clock.advance(3_000)
      assert.equal([(await shown())?.status, fake.changed], ['ok', [hssDriverRef.id]])
    })
    await fake.dispose()
    await mongo.stop()
  },
)

pluginTests('tells that a database was emptied, replaced or restored, whatever it holds', async () => {
  const mongo = await sharedMongo()
  for (const [driver, name, main] of [
    ['docdb_shell', 'lineage4', 'subscribers'],
    ['core_b', 'lineage5', 'subscriptionData.authenticationData.authenticationSubscription'],
  ] as const) {
    const url = mongo.url(name)
    const look = await lookInto(url)
    const { fake, instance, driver: hss } = await setUp({ driver, mongo_url: url })
    await instance.start?.()
    for (let turn = 0; turn < 3; turn += 1) await fake.clock.advance(3_000)
    assert.is(Number(await look.collection('steeple').countDocuments()), 0, 'who only looks leaves no mark')
    let before = fake.changed.length
    const changed = async (): Promise<void> => {
      await eventually(async () => {
        await fake.clock.advance(3_000)
        assert.ok(fake.changed.length > before)
      })
      before = fake.changed.length
    }
    const stays = async (): Promise<void> => {
      for (let turn = 0; turn < 3; turn += 1) {
        await fake.clock.advance(3_000)
        await hss.observe([subscriber(1).imsi], patient())
      }
      assert.is(fake.changed.length, before)
    }
    await hss.upsert([subscriber(1), subscriber(2)], patient())
    const turnOf = async () => Number((await look.collection('steeple').findOne())?.turn)
    await eventually(async () => {
      await fake.clock.advance(3_000)
      assert.ok((await turnOf()) >= 1)
    })
    await stays()
    // A copy of now is restored after more was written.
    const copy = await look.collection('steeple').find().toArray()
    const turn = await turnOf()
    await hss.upsert([subscriber(3)], patient())
    await eventually(async () => {
      await fake.clock.advance(3_000)
      assert.ok((await turnOf()) > turn)
    })
    await look.collection('steeple').deleteMany({})
    await look.collection('steeple').insertMany(copy)
    await changed()
    // Somebody removes every subscriber, and then everything.
    await look.collection(main).deleteMany({})
    await changed()
    await hss.upsert([subscriber(1)], patient())
    await stays()
    await look.clear()
    await changed()
    await fake.dispose()
    await look.close()
  }
})

pluginTests.run()
