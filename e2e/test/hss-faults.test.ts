import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, eventually, rounds, stretched, suite } from '@steeple/testkit'
import { Int32, Long } from 'bson'
import { startFailingProxy } from '../harness/hss/failing-proxy.ts'
import { type Mongo, needMongo, startMongo } from '../harness/hss/mongo.ts'
import { allSynced, cardsCsv, exported, healthOf, importCsv, unsynced } from '../harness/hss/sims.ts'
import { runSvc, type Service, startedProcesses } from '../harness/service.ts'

/** Remembers the SQN of every subscriber and fails when one was lowered or written again. */
class SqnBook {
  readonly #mongo: Mongo
  readonly #seen = new Map<string, string>()

  constructor(mongo: Mongo) {
    this.#mongo = mongo
  }

  /** Looks into the database; gives how many subscribers it holds. */
  async check(): Promise<number> {
    const projection = { imsi: 1, 'security.sqn': 1 }
    const docs = await this.#mongo.subscribers.find({}, { projection }).toArray()
    const twice = docs.length - new Set(docs.map(({ imsi }) => imsi)).size
    assert.is(twice, 0, `${twice} subscribers are there twice`)
    for (const { imsi, security } of docs) {
      const sqn = String(security?.sqn)
      const before = this.#seen.get(String(imsi)) ?? sqn
      assert.is(sqn, before, 'the SQN of a subscriber was written again')
      this.#seen.set(String(imsi), sqn)
    }
    return docs.length
  }

  /** Lets some phones authenticate: a core raises the SQN of its subscribers as they do. */
  async authenticate(some: number): Promise<void> {
    const docs = await this.#mongo.subscribers.find({}, { projection: { imsi: 1 }, limit: some }).toArray()
    for (const { imsi } of docs) {
      await this.#mongo.subscribers.updateOne({ imsi }, { $inc: { 'security.sqn': Long.fromNumber(64) } })
      const now = await this.#mongo.subscribers.findOne({ imsi })
      this.#seen.set(String(imsi), String(now?.security?.sqn))
    }
  }

  /** Everything is lost: what comes back comes with another SQN. */
  forget(): void {
    this.#seen.clear()
  }
}

needMongo()

const faults = suite('e2e/hss-faults')
const processes = startedProcesses()
const ADMIN = 'hss-faults-admin-token-0123456789abcdef'
/** How long the database stands still during the large import. */
const OUTAGE_MS = 60_000
const OUTAGE_ROWS = 10_000
const KILL_ROUNDS = rounds(20)

/** A node that pushes straight to a database. */
const nodeOf = (url: string): Record<string, string> => ({
  SVC_HSS_DRIVER: 'docdb_shell',
  SVC_HSS_MONGO_URL: url,
  SVC_SIMS_DRIFT_INTERVAL: '2s',
})

/*
 * The outage takes a minute in which next to nothing happens, so it runs beside the other stories, with a database and
 * a service of its own.
 */
let outage: Promise<void>
let mongo: Mongo

faults.before(async () => {
  outage = standstill()
  // Its test reports it.
  outage.catch(() => undefined)
  mongo = await startMongo()
})
faults.after(async () => {
  processes.endAll()
  await mongo.close()
})

/** The database stands still for a minute in the middle of an import. */
async function standstill(): Promise<void> {
  const database = await startMongo()
  const service = await processes.start({ env: nodeOf(database.url) })
  try {
    const book = new SqnBook(database)
    const importing = importCsv(service, cardsCsv(OUTAGE_ROWS))
    // It is judged when it is awaited, not while the database is.
    importing.catch(() => undefined)
    await eventually(async () => (await database.count()) > 500)
    database.freeze()
    const end = performance.now() + OUTAGE_MS
    const { imported } = await importing
    assert.is(imported, OUTAGE_ROWS, 'the import does not wait for the database')
    const said = await eventually(async () => {
      const health = await healthOf(service, 'sims.provisioning')
      assert.is(health?.status, 'degraded')
      assert.match(health?.detail ?? '', /does not answer.*; \d+ SIMs? waits?, 0 failed/)
      return health
    })
    assert.ok((await unsynced(service)) > 5_000)
    assert.not.match(said?.detail ?? '', /99999\d{10}/)
    const { body } = await service.request('GET', '/v1/sims?limit=1')
    assert.is(body.sims.length, 1, 'requests are answered meanwhile')
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, end - performance.now())))
    database.thaw()
    await allSynced(service, stretched(45_000))
    assert.is(await book.check(), OUTAGE_ROWS)
    const sqns = new Set(
      (await database.subscribers.find().toArray()).map((doc) => String(doc.security?.sqn)),
    )
    assert.equal([...sqns], ['32'])
    await eventually(async () => assert.is((await healthOf(service, 'sims.provisioning'))?.status, 'ok'))
  } finally {
    await service.stop()
    await database.close()
  }
}

faults(
  'gets everything through a way on which half of the writes are lost, each SQN written once',
  async () => {
    const proxy = await startFailingProxy(mongo.port)
    const service = await processes.start({ env: nodeOf(proxy.url) })
    try {
      const book = new SqnBook(mongo)
      proxy.share = 0.5
      await importCsv(service, cardsCsv(2_000))
      await eventually(async () => (await mongo.count()) > 100)
      await book.check()
      await eventually(async () => (await book.check()) === 2_000)
      proxy.share = 0
      await allSynced(service)
      assert.is(await book.check(), 2_000)
      process.stdout.write(`\n# ${proxy.failed} writes were lost\n`)
      assert.ok(proxy.failed >= 3, `only ${proxy.failed} writes were lost`)
    } finally {
      await service.stop()
      await proxy.close()
      await mongo.subscribers.deleteMany({})
    }
  },
)

/** What the clients of the kill rounds were told. */
interface Told {
  /** Hashes of SIMs. */
  readonly issued: Set<string>
  /** The last change of a SIM that was answered: whether it is suspended. A change without an answer: undefined. */
  readonly suspended: Map<string, boolean | undefined>
}

faults(
  `converges after ${KILL_ROUNDS} rounds of kill -9 while it provisions, without another SQN and without a loss`,
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'steeple-hss-kill-'))
    const told: Told = { issued: new Set(), suspended: new Map() }
    const book = new SqnBook(mongo)
    const start = (): Promise<Service> =>
      processes.start({ dataDir, adminToken: ADMIN, env: nodeOf(`${mongo.url}/open5gs`) })
    try {
      for (let round = 0; round < KILL_ROUNDS; round++) {
        const service = await start()
        if (round === 0) await liftLimits(service)
        const stop = { isOver: false }
        const clients = Array.from({ length: 4 }, () => change(service, told, stop))
        await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 700))
        stop.isOver = true
        await service.kill()
        await Promise.all(clients)
        await book.check()
        await book.authenticate(20)
      }
      const service = await start()
      await allSynced(service)
      await judge(service, told, book)
      await service.stop()
      const verdict = await runSvc(['audit', 'verify', '--data-dir', dataDir])
      assert.is(verdict.code, 0, verdict.stdout + verdict.stderr)
      process.stdout.write(
        `\n# ${told.issued.size} answered SIMs and ${told.suspended.size} suspended or resumed in ${KILL_ROUNDS} rounds\n`,
      )
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
      await mongo.subscribers.deleteMany({})
    }
  },
  { limitMs: 360_000 + KILL_ROUNDS * 4_000 },
)

async function liftLimits(service: Service): Promise<void> {
  const limits = { sim_issue_per_hour: 100_000 }
  assert.is((await service.request('PUT', '/v1/policy', { body: { rate_limits: limits } })).status, 200)
}

/** Issues SIMs and suspends and resumes some, until the service dies. */
async function change(service: Service, told: Told, stop: { readonly isOver: boolean }): Promise<void> {
  while (!stop.isOver) {
    try {
      const { status, body } = await service.request('POST', '/v1/sims', { body: {} })
      if (status === 201) told.issued.add(body.first.imsi_sha256_12)
      const hashes = [...told.issued]
      const hash = hashes[Math.floor(Math.random() * hashes.length)]
      if (hash !== undefined) await turn(service, told, hash)
    } catch {
      // The service is gone.
      return
    }
  }
}

/** Suspends a SIM that is not suspended and the other way round; one whose state nobody was told is left alone. */
async function turn(service: Service, told: Told, hash: string): Promise<void> {
  const isSuspended = told.suspended.has(hash) ? told.suspended.get(hash) : false
  if (isSuspended === undefined) return
  told.suspended.set(hash, undefined)
  const answer = await service.request('POST', `/v1/sims/${hash}/${isSuspended ? 'resume' : 'suspend'}`)
  if (answer.status === 200) told.suspended.set(hash, !isSuspended)
}

/** Every answered SIM is there, in the state that was answered; the database holds each SIM once and as it should. */
async function judge(service: Service, told: Told, book: SqnBook): Promise<void> {
  const states = new Map((await exported(service)).map(({ hash, state }) => [hash, state]))
  for (const hash of told.issued) {
    assert.ok(states.has(hash), `SIM ${hash} was answered and is gone`)
    const isSuspended = told.suspended.get(hash)
    if (isSuspended !== undefined && told.suspended.has(hash))
      assert.is(states.get(hash), isSuspended ? 'suspended' : 'issued', hash)
  }
  assert.is(await book.check(), states.size)
  const suspended = [...states.values()].filter((state) => state === 'suspended').length
  await eventually(async () => (await mongo.count({ slice: [] })) === suspended)
}

faults(
  'repairs a database that died and came back from an old backup, and what hands have changed in it',
  async () => {
    const proxy = await startFailingProxy(mongo.port)
    const service = await processes.start({ env: nodeOf(proxy.url) })
    try {
      await importCsv(service, cardsCsv(300))
      await allSynced(service)
      const backup = await mongo.subscribers.find().toArray()
      await importCsv(service, cardsCsv(200, 300))
      await allSynced(service)
      const hashes = await hashesOf(service)
      const suspended = hashes.slice(0, 5)
      const body = { action: 'suspend', ids: suspended }
      assert.is((await service.request('POST', '/v1/sims/bulk', { body })).body.changed, 5)
      await eventually(async () => (await mongo.count({ slice: [] })) === 5)

      proxy.isCut = true
      await mongo.killAndStart()
      await eventually(async () =>
        assert.is((await healthOf(service, 'sims.provisioning'))?.status, 'degraded'),
      )
      // The backup knows nothing of the last 200 and of the suspensions, and has an old AMBR and old SQNs.
      const slow = { value: new Int32(64), unit: new Int32(1) }
      const ambr = { downlink: slow, uplink: slow }
      await mongo.subscribers.insertMany(backup.map((doc, n) => (n % 3 === 0 ? { ...doc, ambr } : doc)))
      proxy.isCut = false
      const sqns = new Map(backup.map(({ imsi, security }) => [String(imsi), String(security?.sqn)]))

      await eventually(async () => (await mongo.count()) === 500)
      await eventually(async () => (await mongo.count({ slice: [] })) === 5)
      await eventually(async () => (await mongo.count({ 'ambr.downlink.unit': 1 })) === 0)
      for (const { imsi, security } of await mongo.subscribers.find().toArray()) {
        const before = sqns.get(String(imsi))
        // A card may be ahead of what was lost: what is inserted again begins later than everything before.
        if (before === undefined) assert.ok(BigInt(String(security?.sqn)) > 32n)
        else assert.is(String(security?.sqn), before)
      }

      const byHand = await mongo.subscribers.findOne({ slice: [] })
      const imsi = byHand?.imsi
      await mongo.subscribers.updateOne({ imsi }, { $set: { slice: byHand?.suspended_slice } })
      await mongo.subscribers.updateOne(
        { imsi, slice: { $ne: [] } },
        { $unset: { suspended_slice: '', request_cancel_location: '' } },
      )
      await eventually(async () => (await mongo.count({ slice: [] })) === 5)
    } finally {
      await service.stop()
      await proxy.close()
    }
  },
)

async function hashesOf(service: Service): Promise<readonly string[]> {
  const { body } = await service.request('GET', '/v1/sims?limit=100')
  return body.sims.map((sim: { readonly imsi_sha256_12: string }) => sim.imsi_sha256_12)
}

faults(
  `loses nothing and writes nothing twice when the database stands still for ${OUTAGE_MS / 1_000} s in an import of ${OUTAGE_ROWS}`,
  () => outage,
)

faults.run()
