import { join } from 'node:path'
import type { Document } from 'mongodb'
import { type Mongo, missingMongo, startMongo } from '../harness/hss/mongo.ts'
import { cardsCsv, exportedCount, importCsv } from '../harness/hss/sims.ts'
import { startHostEngine } from '../harness/hss/test-tools.ts'
import { type Service, startService } from '../harness/service.ts'
import { bareInserts, templatesOf } from './bare-inserts.ts'
import { cpuMs, type Finding } from './measure.ts'

const ROWS = 20_000
const DURABLE_LIMIT_S = 5
const MONGO_LIMIT_S = 60
const SHELL_LIMIT_S = 180
const MANY = 100_000
const FILE_ROWS = 50_000
const PASS_LIMIT_S = 5
const IDLE_MS = 20_000
const IDLE_LIMIT_SHARE = 1
/** Rows that an import commits at once. */
const PER_COMMIT = 250
/** Subscribers that one request to a database carries. */
const PER_CALL = 500

/** Import of cards to durable and into the document store, directly and through mongosh, beside the bare bindings. */
export async function benchImport(): Promise<readonly Finding[]> {
  if (isLeftOut()) return []
  const mongo = await startMongo()
  try {
    const direct = await importInto(mongo, { SVC_HSS_MONGO_URL: mongo.url })
    const bareStore = ROWS / bareInserts(direct.templates, PER_COMMIT, 3)
    const bareMongo = await bareUpserts(mongo)
    await mongo.subscribers.deleteMany({})
    const shell = await importThroughShell(mongo)
    const finding = (name: string, value: number, limit: number, beside?: Finding['beside']): Finding => ({
      name,
      value,
      unit: 's',
      ...(beside === undefined ? {} : { beside }),
      target: `≤ ${limit} s`,
      isMet: value <= limit,
    })
    return [
      finding(`import of ${ROWS} cards, durable`, direct.durableS, DURABLE_LIMIT_S, {
        what: `bare binding, same rows, ${PER_COMMIT} per commit`,
        value: bareStore,
      }),
      finding(`into the document store, hss.mongo_url`, direct.storedS, MONGO_LIMIT_S, {
        what: `bare driver, same documents, ${PER_CALL} per call`,
        value: bareMongo,
      }),
      finding(`into the document store, docdb_shell`, shell.storedS, SHELL_LIMIT_S, {
        what: 'hss.mongo_url',
        value: direct.storedS,
      }),
    ]
  } finally {
    await mongo.close()
  }
}

function isLeftOut(): boolean {
  const missing = missingMongo()
  if (missing === undefined) return false
  process.stderr.write(`left out: it needs ${missing}\n`)
  return true
}

interface Imported {
  readonly durableS: number
  readonly storedS: number
  readonly templates: ReturnType<typeof templatesOf>
}

/** Seconds until the answer, and until the document store has every card, both from the request on. */
async function importInto(mongo: Mongo, env: Readonly<Record<string, string>>): Promise<Imported> {
  const service = await startService({ env: { SVC_HSS_DRIVER: 'docdb_shell', ...env } })
  try {
    const csv = cardsCsv(ROWS)
    const startedAt = performance.now()
    const { imported } = await importCsv(service, csv)
    const durableS = (performance.now() - startedAt) / 1_000
    if (imported !== ROWS) throw new Error(`only ${imported} of ${ROWS} were imported`)
    await holds(mongo, ROWS, 3 * SHELL_LIMIT_S)
    const storedS = (performance.now() - startedAt) / 1_000
    return { durableS, storedS, templates: templatesOf(join(service.dataDir, 'svc.db'), ['sims_sim']) }
  } finally {
    await service.stop()
  }
}

async function importThroughShell(mongo: Mongo): Promise<Imported> {
  const engine = await startHostEngine(mongo.port)
  try {
    return await importInto(mongo, { SVC_HSS_ENGINE_SOCKET: engine.socket })
  } finally {
    await engine.close()
  }
}

async function holds(mongo: Mongo, count: number, limitS: number): Promise<void> {
  const end = performance.now() + limitS * 1_000
  while ((await mongo.count()) < count) {
    if (performance.now() > end) throw new Error(`the document store has no ${count} within ${limitS} s`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Seconds in which the bare driver writes the same documents anew. */
async function bareUpserts(mongo: Mongo): Promise<number> {
  const docs = await mongo.subscribers.find().toArray()
  await mongo.subscribers.deleteMany({})
  const startedAt = performance.now()
  for (let at = 0; at < docs.length; at += PER_CALL) {
    const models = docs.slice(at, at + PER_CALL).map(({ _id, imsi, ...rest }: Document) => ({
      updateOne: { filter: { imsi }, update: { $set: rest }, upsert: true },
    }))
    await mongo.subscribers.bulkWrite(models, { ordered: false })
  }
  return (performance.now() - startedAt) / 1_000
}

/** CPU of a full reconcile pass over many SIMs that the HSS holds as it should, and of doing nothing. */
export async function benchReconcile(): Promise<readonly Finding[]> {
  if (isLeftOut()) return []
  const mongo = await startMongo()
  const service = await startService({
    env: {
      SVC_HSS_DRIVER: 'docdb_shell',
      SVC_HSS_MONGO_URL: mongo.url,
      SVC_SIMS_DRIFT_INTERVAL: '60s',
    },
  })
  try {
    for (let first = 0; first < MANY; first += FILE_ROWS) await importCsv(service, cardsCsv(FILE_ROWS, first))
    await holds(mongo, MANY, 600)
    await synced(service)
    const pass = await passCpu(service)
    const idle = await idleShare(service)
    const bare = await bareReads(mongo)
    return [
      {
        name: `full reconcile pass over ${MANY} synced SIMs`,
        value: pass,
        unit: 's CPU',
        beside: { what: `bare driver reads the same documents, ${PER_CALL} per call`, value: bare },
        target: `≤ ${PASS_LIMIT_S} s`,
        isMet: pass <= PASS_LIMIT_S,
      },
      {
        name: `idle with ${MANY} SIMs`,
        value: idle,
        unit: '% of a core',
        target: `≤ ${IDLE_LIMIT_SHARE} %`,
        isMet: idle <= IDLE_LIMIT_SHARE,
      },
    ]
  } finally {
    await service.stop()
    await mongo.close()
  }
}

async function synced(service: Service): Promise<void> {
  while ((await exportedCount(service, 'synced')) < MANY)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
}

/** Slices of the drift reconciler that were looked at so far. */
async function slicesDone(service: Service): Promise<number> {
  const text = String((await service.request('GET', '/metrics')).body)
  const line = /^svc_reconcile_total\{resource="sim_drift",result="converged"\} (\d+)$/m.exec(text)
  return Number(line?.[1] ?? 0)
}

/** Seconds of CPU from just before the first slice of a pass to its last. */
async function passCpu(service: Service): Promise<number> {
  const pid = service.child.pid ?? 0
  await quiet(service)
  const before = await slicesDone(service)
  let cpuBefore = cpuMs(pid)
  for (;;) {
    if ((await slicesDone(service)) > before) break
    cpuBefore = cpuMs(pid)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await quiet(service)
  return (cpuMs(pid) - cpuBefore) / 1_000
}

/** Resolves when no slice was looked at for two seconds. */
async function quiet(service: Service): Promise<void> {
  for (let before = -1; before !== (await slicesDone(service)); ) {
    before = await slicesDone(service)
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  }
}

/** CPU of the process, in percent of a core, while nobody asks it for anything. The pass before was just over. */
async function idleShare(service: Service): Promise<number> {
  const before = cpuMs(service.child.pid ?? 0)
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  return (100 * (cpuMs(service.child.pid ?? 0) - before)) / IDLE_MS
}

/** Seconds of CPU in which this process reads every document with the bare driver. */
async function bareReads(mongo: Mongo): Promise<number> {
  const imsis = Array.from({ length: MANY }, (_, n) => `99999${String(n).padStart(10, '0')}`)
  const before = process.cpuUsage()
  for (let at = 0; at < MANY; at += PER_CALL)
    await mongo.subscribers.find({ imsi: { $in: imsis.slice(at, at + PER_CALL) } }).toArray()
  const used = process.cpuUsage(before)
  return (used.user + used.system) / 1e6
}
