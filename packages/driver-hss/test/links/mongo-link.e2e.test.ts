import { createServer, type Socket } from 'node:net'
import { type Imsi, isServiceError } from '@steeple/contracts'
import { assert, eventually, listen, patient, suite, unusedPort } from '@steeple/testkit'
import { free5gcDriver } from '../../src/free5gc/free5gc-driver.ts'
import { COLLECTIONS } from '../../src/free5gc/names.ts'
import type { DocumentLink } from '../../src/links/document-link.ts'
import { mongoLink, shownUrl } from '../../src/links/links.ts'
import { open5gsDriver } from '../../src/open5gs/open5gs-driver.ts'
import { lookInto } from '../support/database.ts'
import { sharedMongo, startMongo } from '../support/mongo-server.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()
const mongoTests = suite('driver-hss/links/mongo-link')
const PLMN = { mcc: '999', mnc: '99' }
const AUTH = COLLECTIONS.auth
const many = Array.from({ length: 2000 }, (_none, index) =>
  subscriber(index % 100, { imsi: `99998${String(index).padStart(10, '0')}` as Imsi }),
)

mongoTests(
  'keeps what got through when the server stops in the middle, and finishes after its return',
  async () => {
    const mongo = await startMongo(await unusedPort())
    const link = mongoLink(mongo.url('open5gs'), 'open5gs', { selectMs: 5_000, answerMs: 60_000 })
    let writes = 0
    const breaking: DocumentLink = {
      ...link,
      write: async (...call) => {
        writes += 1
        if (writes === 2) await mongo.kill()
        return await link.write(...call)
      },
    }
    const driver = open5gsDriver({ name: 'x', link: breaking, slices: () => [{ sst: 1 }] })
    const result = await driver.upsert(many, patient())
    assert.is(result.size, many.length)
    const failed = [...result.values()].filter((error) => error !== undefined)
    assert.is(failed.length, 1500)
    assert.ok(failed.every((error) => isServiceError(error) && error.code === 'southbound_unavailable'))
    assert.not.match(failed.map((error) => error?.message).join(), /99998/)

    const again = await startMongo(mongo.port)
    const look = await lookInto(again.url('open5gs'))
    try {
      const second = await driver.upsert(many, patient())
      assert.is([...second.values()].filter((error) => error !== undefined).length, 0)
      assert.is(Number(await look.collection('subscribers').countDocuments()), many.length)
    } finally {
      await look.close()
      await driver.close()
      await again.stop()
    }
  },
)

mongoTests(
  'uses a database that came up after its first calls, and that after every further outage',
  async () => {
    const port = await unusedPort()
    const url = `mongodb://127.0.0.1:${port}`
    // Long enough to find out on a busy machine why nobody answers.
    const link = mongoLink(url, 'open5gs', { selectMs: 2_000, answerMs: 30_000 })
    const driver = open5gsDriver({ name: 'x', link, slices: () => [{ sst: 1 }] })
    const problems: string[] = []
    try {
      for (let round = 0; round < 2; round += 1) {
        // Several at once, and again: what failed first must not keep the others.
        for (let turn = 0; turn < 2; turn += 1) {
          const calls = [1, 2, 3].map((index) => driver.upsert([subscriber(index)], patient()))
          for (const call of await Promise.allSettled(calls))
            problems.push(call.status === 'rejected' ? String(call.reason.message) : 'it worked')
        }
        const mongo = await startMongo(port)
        await eventually(async () => {
          const written = await driver.upsert([subscriber(1)], patient())
          assert.equal([...written.values()], [undefined])
        })
        await mongo.kill()
      }
    } finally {
      await driver.close()
    }
    assert.is(problems.length, 12)
    for (const problem of problems.slice(0, 6)) assert.match(problem, /does not answer: .*ECONNREFUSED/)
    for (const problem of problems) assert.not.match(problem, /it worked|TopologyClosed/)
  },
)

mongoTests('leaves nothing but subscribers once it is released, however often', async () => {
  const mongo = await sharedMongo()
  const url = mongo.url('released')
  const look = await lookInto(url)
  const driver = open5gsDriver({
    name: 'x',
    link: mongoLink(url, 'open5gs'),
    slices: () => [{ sst: 1 }],
  })
  await driver.upsert([subscriber(1)], patient())
  await driver.probe(patient())
  assert.is(Number(await look.collection('steeple').countDocuments()), 1)
  for (let turn = 0; turn < 2; turn += 1) {
    await driver.release?.(patient())
    await driver.probe(patient())
    assert.match(await look.world(), /^subscribers [^\n]+$/)
    assert.equal(await look.names(), ['subscribers'])
  }
  await driver.close()
  await look.close()
})

mongoTests('reports the half that the server refuses and writes the other', async () => {
  const mongo = await sharedMongo()
  const look = await lookInto(mongo.url('halves'))
  await look.collection('subscribers').createIndex({ msisdn: 1 }, { unique: true })
  const driver = open5gsDriver({
    name: 'x',
    link: mongoLink(mongo.url('halves'), 'open5gs'),
    slices: () => [{ sst: 1 }],
  })
  const list = Array.from({ length: 20 }, (_none, index) =>
    subscriber(index, { msisdn: `4366000${index < 10 ? index : 5}` }),
  )
  const result = await driver.upsert(list, patient())
  assert.is([...result.values()].filter((error) => error !== undefined).length, 10)
  assert.is(Number(await look.collection('subscribers').countDocuments()), 10)
  await driver.close()
  await look.close()
})

mongoTests('makes the unique index again in a database that was emptied under it', async () => {
  const mongo = await sharedMongo()
  const url = mongo.url('emptied')
  const look = await lookInto(url)
  const link = mongoLink(url, 'open5gs')
  const open5gs = open5gsDriver({ name: 'x', link, slices: () => [{ sst: 1 }] })
  const place = { plmn: () => PLMN, slices: () => [{ sst: 1 }], release: () => '4.2.3' }
  const free5gc = free5gcDriver({ name: 'y', link, ...place })
  const isUnique = async (name: string, field: string): Promise<boolean> =>
    (await look.collection(name).indexes()).some(({ key, unique }) => field in key && unique === true)
  const seen: boolean[] = []
  for (let round = 0; round < 2; round++) {
    for (const name of ['subscribers', AUTH])
      await look
        .collection(name)
        .drop()
        .catch(() => undefined)
    await open5gs.upsert([subscriber(1)], patient())
    await free5gc.upsert([subscriber(1)], patient())
    seen.push(await isUnique('subscribers', 'imsi'), await isUnique(AUTH, 'ueId'))
  }
  await link.close()
  await look.close()
  assert.equal(seen, [true, true, true, true])
})

mongoTests('gives up on a server that takes connections and says nothing', async () => {
  const sockets = new Set<Socket>()
  const mute = createServer((socket) => sockets.add(socket))
  const { port } = await listen(mute)
  const link = mongoLink(`mongodb://127.0.0.1:${port}`, 'open5gs', { selectMs: 300, answerMs: 500 })
  const error = await link.find('subscribers', {}, {}, patient()).then(
    () => undefined,
    (reason: unknown) => reason as Error,
  )
  assert.ok(error !== undefined && isServiceError(error))
  assert.is(error?.code, 'southbound_unavailable')
  await link.close()
  for (const socket of sockets) socket.destroy()
  mute.close()
})

mongoTests('is not opened again by a call that comes after its end', async () => {
  const link = mongoLink((await sharedMongo()).url('closed'), 'open5gs')
  assert.equal(await link.find('subscribers', {}, {}, patient()), [])
  await link.close()
  const error = await link.find('subscribers', {}, {}, patient()).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(isServiceError(error) && error.code === 'southbound_unavailable')
  assert.match(error.message, /is closed$/)
})

mongoTests('rejects with the reason of its signal, at once', async () => {
  const link = mongoLink('mongodb://127.0.0.1:1', 'open5gs')
  const stop = new AbortController()
  const call = link.find('subscribers', {}, {}, stop.signal)
  setImmediate(() => stop.abort(new Error('enough')))
  await call.then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, 'enough'),
  )
  await link.close()
})

mongoTests('shows no credentials of its address', () => {
  assert.is(shownUrl('mongodb://user:secret@db:27017/open5gs?authSource=x'), 'mongodb://db:27017/open5gs')
  assert.is(shownUrl('mongodb+srv://u:p@a,b/x'), 'mongodb+srv://a,b/x')
})

mongoTests.run()
