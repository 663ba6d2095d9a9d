import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { rowSum } from '@steeple/contracts'
import { eventually, tempDir } from '@steeple/testkit'
import Database from 'better-sqlite3'
import type { Document } from 'mongodb'
import { restoreBackup } from '../harness/backups.ts'
import { type Mongo, missingMongo, startMongo } from '../harness/hss/mongo.ts'
import { cardsCsv, exportedCount, importCsv } from '../harness/hss/sims.ts'
import { startHostEngine } from '../harness/hss/test-tools.ts'
import { fillMoves } from '../harness/recorded-moves.ts'
import type { Service } from '../harness/service.ts'
import {
  type Bench,
  bench,
  cpuOf,
  liftLimits,
  most,
  mostTimes,
  program,
  quantile,
  type Stage,
  shareOf,
  started,
  timed,
  times,
} from './bench.ts'
import { bareInserts, templatesOf } from './changes.ts'
import type { BackupWish } from './programs.ts'
import { importSims, simStores, simsCsv, WITHOUT_HSS } from './store-of-sims.ts'

const FEW = 1_000
const MANY = 100_000

const list = bench({
  name: 'list',
  about: `p99 of a list page in the middle of ${MANY} rows, beside that of ${FEW} rows, in turns`,
  setup: async (stage) => [await walkOf(stage, FEW), await walkOf(stage, MANY)] as const,
  act: async ([few, many]) => {
    const pages = await times(4_000, async () => [await few(), await many()] as const)
    const reference = quantile(
      pages.map(([ms]) => ms),
      0.99,
    )
    const value = quantile(
      pages.map(([, ms]) => ms),
      0.99,
    )
    const name = `list page p99 at ${MANY} rows`
    return [mostTimes(name, value, 'ms', 1.2, [`at ${FEW} rows`, reference], `≤ 120 % of that at ${FEW}`)]
  },
})

/** Asks a service with so many rows for page after page, from the start again after the last; gives each page's latency in ms. */
async function walkOf(stage: Stage, rows: number): Promise<() => Promise<number>> {
  const { path: dataDir } = stage.use(await tempDir('steeple-bench-'))
  {
    await using first = await started({ dataDir })
    await first.request('POST', '/v1/tokens', { body: { name: 'seed', roles: ['viewer'] } })
  }
  seed(join(dataDir, 'svc.db'), rows)
  const { url, adminToken } = stage.use(await started({ dataDir }))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let cursor: string | null = null
  return () =>
    timed(async () => {
      const query = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const text = await get(agent, `${url}/v1/tokens?limit=50${query}`, adminToken)
      cursor = (JSON.parse(text) as { readonly next_cursor: string | null }).next_cursor
    })
}

/** Copies of the one token under other keys, one millisecond apart. */
function seed(path: string, rows: number): void {
  const db = new Database(path)
  const template = db.prepare('select * from access_token limit 1').get() as Record<string, unknown>
  const columns = Object.keys(template).filter((column) => column !== 'row_sum')
  const insert = db.prepare(
    `insert into access_token (${columns.join(', ')}, row_sum) values (${columns.map(() => '?').join(', ')}, ?)`,
  )
  db.transaction(() => {
    for (let n = 1; n < rows; n++) {
      const row: Record<string, unknown> = {
        ...template,
        id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
        token_sha256: String(n).padStart(64, '0'),
        created_at_ms: Number(template.created_at_ms) - n,
      }
      insert.run(...columns.map((column) => row[column]), rowSum(columns, row))
    }
  })()
  db.close()
}

function get(agent: Agent, url: string, token: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))))
    })
    sent.on('error', reject)
    sent.end()
  })
}

const idle = bench({
  name: 'idle',
  about: 'what a service takes that nobody asks: with no core in reach, and with SIMs that wait for an HSS',
  setup: () => [0, 1_000],
  act: (cases) =>
    times(cases.length, async (at) => {
      const waiting = cases[at] ?? 0
      await using service = await started()
      await liftLimits(service)
      if (waiting > 0) await importSims(service, simsCsv(0, waiting, ['iccid']), waiting)
      const value = await shareOf(service, 30_000, 20_000)
      const name = `idle without a core or HSS, ${waiting} SIMs waiting`
      return most(name, value, '% of a core', 0.5, { target: '≤ 0.5 %' })
    }),
})

const RULES = 200
/** Some of each kind of metric that changes while nobody asks anything. */
const METRICS = [
  'svc_sim_state',
  'svc_sims_unsynced',
  'process_resident_memory_bytes',
  'nodejs_eventloop_utilization_ratio',
  'process_cpu_seconds_total',
  'svc_reconcile_total',
  'svc_reconcile_duration_seconds',
  'svc_http_request_duration_seconds',
]

const alerts = bench({
  name: 'alerts',
  about: 'what looking at rules takes while nobody asks anything, beside the same service without',
  setup: async (stage) => ({
    store: await simStores(stage).folder(MANY),
    folder: stage.use(await tempDir('steeple-bench-')).path,
  }),
  act: async ({ store, folder }) => {
    const rules = Array.from({ length: RULES }, (_, index) => ({
      ...{ name: `r${index}`, metric: METRICS[index % METRICS.length], op: '>', for: '5s', severity: 'info' },
      // Half of them fire for good.
      threshold: index % 2 === 0 ? -1 : 1e15,
    }))
    const share = async (enabled: boolean): Promise<number> => {
      const dataDir = join(folder, String(enabled))
      execFileSync('cp', ['-a', `${store}/.`, dataDir])
      writeFileSync(`${dataDir}.yaml`, JSON.stringify({ alerts: { enabled, rules } }))
      const flags = ['--config', `${dataDir}.yaml`]
      await using service = await started({ ...WITHOUT_HSS, dataDir, flags })
      return await shareOf(service, 60_000, 30_000)
    }
    const without = await share(false)
    const value = Math.max(0, (await share(true)) - without)
    return [
      most(`alerts, ${RULES} rules, ${MANY} SIMs`, value, '% of a core', 1, {
        beside: ['all of the service without', without],
        target: '≤ 1 %',
      }),
    ]
  },
})

const backup = bench({
  name: 'backup',
  about: 'a backup of many SIMs under a passphrase, and its restore, until the service serves it',
  setup: async (stage) => stage.use(await simStores(stage).service(MANY)),
  act: async (service) => {
    const passphrase = randomBytes(16).toString('hex')
    const file = join(service.dataDir, '..', 'backup.enc')
    await eventually(async () => (await service.request('GET', '/v1/health')).body.status !== undefined)
    const wish: BackupWish = { url: service.url, token: service.adminToken, passphrase, file }
    using client = await program<string>('backup', wish)
    const idleMs = await readP99(service, () => false)
    const idleMiB = service.residentMiB()
    const taking = watchResident(service)
    let isOver = false
    const taken = client.ask<number>().finally(() => {
      isOver = true
    })
    const busyMs = await readP99(service, () => isOver)
    const seconds = await taken
    const took = taking()
    const content = new Uint8Array(await readFile(file))
    const bringing = watchResident(service)
    const restoreS =
      (await timed(() => restoreBackup(service, content, '', { 'x-backup-passphrase': passphrase }))) / 1_000
    const brought = bringing()
    process.stderr.write(`  resident, MiB: the service ${idleMiB.toFixed()} idle\n`)
    for (const [what, { own, processes, together }] of Object.entries({ backup: took, restore: brought }))
      process.stderr.write(
        `    ${what}: the service ${own.toFixed()}, its processes ${processes.toFixed()}, together ${together.toFixed()} at most\n`,
      )
    process.stderr.write(`  p99 of a read: ${idleMs} ms idle, ${busyMs} ms meanwhile\n`)
    process.stderr.write(`  load: ${loadavg()[0]}\n`)
    const added = Math.max(took.together, brought.together) - idleMiB
    const name = `backup, ${MANY} SIMs`
    return [
      most(`${name}: take`, seconds, 's', 10),
      most(`${name}: restore until it is served`, restoreS, 's', 20),
      most(`${name}: most resident memory added`, added, 'MiB', 150),
      most(`${name}: p99 of a read meanwhile, times idle`, busyMs / idleMs, '', 2, { target: '≤ 2' }),
    ]
  },
})

/** The 99th percentile of a read, ms: of 2,000, or of those until it is over. */
async function readP99(service: Service, isOver: () => boolean): Promise<number> {
  const took: number[] = []
  while (took.length < 2_000 && !isOver()) {
    took.push(await timed(() => service.request('GET', '/v1/sims?limit=1')))
    await delay(3)
  }
  return quantile(took, 0.99)
}

/** The most resident memory at one moment, MiB: of the service, of the processes that it started meanwhile, of all of them. */
function watchResident(service: Service) {
  let most = { own: 0, processes: 0, together: 0 }
  const { pid } = service.child
  const children = (): readonly number[] =>
    readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
    )
  const timer = setInterval(() => {
    const own = service.residentMiB()
    const processes = children()
      // What follows each start, whatever else is done.
      .filter((child) => !read(`/proc/${child}/cmdline`).includes('integrity_check'))
      .map((child) => Number(/VmRSS:\s+(\d+) kB/.exec(read(`/proc/${child}/status`))?.[1] ?? 0) / 1_024)
      .reduce((sum, mib) => sum + mib, 0)
    most = {
      own: Math.max(most.own, own),
      processes: Math.max(most.processes, processes),
      together: Math.max(most.together, own + processes),
    }
  }, 10)
  return () => {
    clearInterval(timer)
    return most
  }
}

/** Of a process that may have ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const MOVES = 1_000_000

const compliance = bench({
  name: 'compliance',
  about: "the regulator's file of a million moves, and what the service holds meanwhile",
  setup: async (stage) => {
    const { path: dataDir } = stage.use(await tempDir('steeple-bench-'))
    await (await started({ ...WITHOUT_HSS, dataDir })).stop()
    fillMoves(join(dataDir, 'svc.db'), MOVES)
    return stage.use(await started({ ...WITHOUT_HSS, dataDir }))
  },
  act: async (service) => {
    const linesOf = async (kind: string): Promise<number> => {
      const headers = { authorization: `Bearer ${service.adminToken}` }
      const response = await fetch(`${service.url}/v1/compliance/export?kinds=${kind}`, { headers })
      if (response.status !== 200 || response.body === null) throw new Error(`no file: ${response.status}`)
      let lines = 0
      for await (const chunk of response.body) for (const octet of chunk) if (octet === 0x0a) lines += 1
      return lines
    }
    // Once, so that what any answer needs is there.
    await linesOf('policy')
    const before = service.residentMiB()
    const cpuBefore = cpuOf(service)
    const watched = watchResident(service)
    const ms = await timed(async () => {
      const lines = await linesOf('sim')
      if (lines < MOVES) throw new Error(`the file has ${lines} lines`)
    })
    const { own } = watched()
    const cpuS = (cpuOf(service) - cpuBefore) / 1_000
    process.stderr.write(`  resident: ${before} MiB before, ${own} at most; processor: ${cpuS} s\n`)
    const name = `regulator's file, ${MOVES} rows`
    return [most(name, ms / 1_000, 's', 20), most(`${name}: more resident memory`, own - before, 'MiB', 64)]
  },
})

const ROWS = 20_000
/** Subscribers that one request to a database carries. */
const PER_CALL = 500

/** A document store, where there is one. */
async function mongoOf(stage: Stage): Promise<Mongo | undefined> {
  const missing = missingMongo()
  if (missing === undefined) return stage.adopt(await startMongo(), async (own) => await own.close())
  process.stderr.write(`left out: it needs ${missing}\n`)
  return undefined
}

const imports = bench({
  name: 'import',
  about: 'cards to durable and into the document store, directly and through mongosh, beside bare bindings',
  setup: mongoOf,
  act: async (mongo) => {
    if (mongo === undefined) return []
    const direct = await importInto(mongo, { SVC_HSS_MONGO_URL: mongo.url })
    const perCommit = 250
    const bareStore = ROWS / (await bareInserts(direct.templates, perCommit, 3))
    const bareMongo = await bareUpserts(mongo)
    await mongo.subscribers.deleteMany({})
    await using stage = new AsyncDisposableStack()
    const engine = stage.adopt(await startHostEngine(mongo.port), async (own) => await own.close())
    const shell = await importInto(mongo, { SVC_HSS_ENGINE_SOCKET: engine.socket })
    return [
      most(`import of ${ROWS} cards, durable`, direct.durableS, 's', 5, {
        beside: [`bare binding, same rows, ${perCommit} per commit`, bareStore],
      }),
      most('into the document store, hss.mongo_url', direct.storedS, 's', 60, {
        beside: [`bare driver, same documents, ${PER_CALL} per call`, bareMongo],
      }),
      most('into the document store, docdb_shell', shell.storedS, 's', 180, {
        beside: ['hss.mongo_url', direct.storedS],
      }),
    ]
  },
})

/** Seconds until the answer, and until the document store has every card, both from the request on. */
async function importInto(mongo: Mongo, env: Readonly<Record<string, string>>) {
  await using service = await started({ env: { SVC_HSS_DRIVER: 'docdb_shell', ...env } })
  const csv = cardsCsv(ROWS)
  const startedAt = performance.now()
  const { imported } = await importCsv(service, csv)
  const durableS = (performance.now() - startedAt) / 1_000
  if (imported !== ROWS) throw new Error(`only ${imported} of ${ROWS} were imported`)
  await holds(mongo, ROWS, 540)
  const storedS = (performance.now() - startedAt) / 1_000
  return { durableS, storedS, templates: templatesOf(join(service.dataDir, 'svc.db'), ['sims_sim']) }
}

async function holds(mongo: Mongo, count: number, limitS: number): Promise<void> {
  await eventually(async () => (await mongo.count()) >= count, limitS * 1_000)
}

/** Seconds in which the bare driver writes the same documents again. */
async function bareUpserts(mongo: Mongo): Promise<number> {
  const docs = await mongo.subscribers.find().toArray()
  await mongo.subscribers.deleteMany({})
  const ms = await timed(async () => {
    for (let at = 0; at < docs.length; at += PER_CALL) {
      const models = docs.slice(at, at + PER_CALL).map(({ _id, imsi, ...rest }: Document) => ({
        updateOne: { filter: { imsi }, update: { $set: rest }, upsert: true },
      }))
      await mongo.subscribers.bulkWrite(models, { ordered: false })
    }
  })
  return ms / 1_000
}

const reconcile = bench({
  name: 'reconcile',
  about: 'processor time of a full pass over many SIMs that the HSS holds as it should, and of doing nothing',
  setup: async (stage) => {
    const mongo = await mongoOf(stage)
    if (mongo === undefined) return undefined
    const hss = { SVC_HSS_DRIVER: 'docdb_shell', SVC_HSS_MONGO_URL: mongo.url }
    const service = stage.use(await started({ env: { ...hss, SVC_SIMS_DRIFT_INTERVAL: '60s' } }))
    for (let first = 0; first < MANY; first += MANY / 2) await importCsv(service, cardsCsv(MANY / 2, first))
    await holds(mongo, MANY, 600)
    while ((await exportedCount(service, 'synced')) < MANY) await delay(1_000)
    return { mongo, service }
  },
  act: async (world) => {
    if (world === undefined) return []
    const { mongo, service } = world
    const pass = await passCpu(service)
    // The pass before was just over.
    const share = await shareOf(service, 20_000)
    const imsis = Array.from({ length: MANY }, (_, n) => `99999${String(n).padStart(10, '0')}`)
    const before = process.cpuUsage()
    for (let at = 0; at < MANY; at += PER_CALL)
      await mongo.subscribers.find({ imsi: { $in: imsis.slice(at, at + PER_CALL) } }).toArray()
    const { user, system } = process.cpuUsage(before)
    return [
      most(`full reconcile pass over ${MANY} synced SIMs`, pass, 's CPU', 5, {
        beside: [`bare driver reads the same documents, ${PER_CALL} per call`, (user + system) / 1e6],
        target: '≤ 5 s',
      }),
      most(`idle with ${MANY} SIMs`, share, '% of a core', 1, { target: '≤ 1 %' }),
    ]
  },
})

/** Seconds of CPU from just before the first slice of a pass to its last. */
async function passCpu(service: Service): Promise<number> {
  // Slices of the drift reconciler that were looked at so far.
  const slices = async (): Promise<number> => {
    const text = String((await service.request('GET', '/metrics')).body)
    const found = /^svc_reconcile_total\{resource="sim_drift",result="converged"\} (\d+)$/m.exec(text)
    return Number(found?.[1] ?? 0)
  }
  // No slice was looked at for two seconds.
  const quiet = async (): Promise<void> => {
    for (let before = -1; before !== (await slices()); ) {
      before = await slices()
      await delay(2_000)
    }
  }
  await quiet()
  const before = await slices()
  let cpuBefore = cpuOf(service)
  while ((await slices()) === before) {
    cpuBefore = cpuOf(service)
    await delay(100)
  }
  await quiet()
  return (cpuOf(service) - cpuBefore) / 1_000
}

/** What lists, files and many SIMs take. */
export const SIMS: readonly Bench[] = [list, idle, alerts, backup, compliance, imports, reconcile]
