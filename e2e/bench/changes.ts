import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { tempDir } from '@steeple/testkit'
import Database from 'better-sqlite3'
import type { Service, StartOptions } from '../harness/service.ts'
import {
  AS_NPM_START,
  type Bench,
  bench,
  diskFolder,
  type Finding,
  least,
  liftLimits,
  line,
  load,
  loadOn,
  median,
  most,
  started,
  timed,
  times,
} from './bench.ts'
import { importSims, simsCsv } from './store-of-sims.ts'

/** One kind of change: what is posted where, and which tables it writes one row of. */
interface Change {
  readonly name: string
  readonly path: string
  readonly body: object
  readonly tables: readonly string[]
  /** The least share of the bare binding; only the rate is held to something when absent. */
  readonly leastShare?: number
}

/** Changes a second over HTTP, beside the bare binding doing the same inserts with the same number of them in each commit. */
async function changeLine(change: Change, clients: number): Promise<Finding> {
  await using stage = new AsyncDisposableStack()
  const folder = diskFolder(stage)
  const rounds = await times(3, async () => {
    await using service = await started({ ...LOGGED, dataDir: mkdtempSync(join(folder, 'data-')) })
    await liftLimits(service)
    const url = service.url + change.path
    const wish = { url, connections: clients, seconds: 3, token: service.adminToken, body: change.body }
    const { perSecond } = await load(wish)
    const templates = templatesOf(join(service.dataDir, 'svc.db'), change.tables)
    return { ours: perSecond, bare: await bareInserts(templates, clients, 3) }
  })
  const ceiling = median(rounds.map(({ bare }) => bare))
  const { leastShare } = change
  const share = leastShare === undefined ? '' : `≥ ${leastShare * 100} % of bare and `
  const limit = Math.max(800, (leastShare ?? 0) * ceiling)
  return least(`${change.name}, ${clients} clients`, median(rounds.map(({ ours }) => ours)), '/s', limit, {
    beside: [`bare binding, same inserts, ${clients} per commit`, ceiling],
    target: `${share}≥ 800/s`,
  })
}

/** As `npm start` has it, nothing to push to, with the log of a service. */
const LOGGED: StartOptions = { ...AS_NPM_START, flags: ['--log-level', 'info'] }

const mutation = bench({
  name: 'mutation',
  about: 'durable audited changes over HTTP, beside the bare binding that does the same inserts',
  setup: (): Change => ({
    name: 'durable mutation with audit',
    path: '/v1/tokens',
    body: { name: 'bench', roles: ['viewer'] },
    tables: ['access_token', 'kernel_audit', 'kernel_outbox'],
    leastShare: 0.3,
  }),
  act: async (change) => [await changeLine(change, 8), await changeLine(change, 32)],
})

/** Another machine, 8 clients: rate and CPU of a create. */
const PEERS =
  'another machine: PyHSS 74/s 13.2 ms, OsmoHLR 1,933/s 0.24 ms, etcd 5,212/s 0.25 ms, Ella 964/s 1.21 ms'
const DESK_CLIENTS = 8
const DESK_SECONDS = 10

// What was issued is removed at the end: ext4 looks at each inode that was freed in the last half a minute before it gives one away, and
// there are thousands of them then.
const issue = bench({
  name: 'issue',
  about: 'issuing one SIM per request beside bare inserts, its processor time, and one’s own keys one by one',
  setup: async (stage) =>
    stage.use(await started({ ...LOGGED, dataDir: mkdtempSync(join(diskFolder(stage), 'data-')) })),
  act: async (service) => {
    await liftLimits(service)
    const wish = {
      url: `${service.url}/v1/sims`,
      connections: DESK_CLIENTS,
      token: service.adminToken,
      body: {},
    }
    // As long as V8 goes on compiling what issuing runs: a desk issues for days.
    await load({ ...wish, seconds: 25 })
    const issued = await loadOn(service, { ...wish, seconds: DESK_SECONDS })
    const one = await ownKeys(service, 1)
    const many = await ownKeys(service, DESK_CLIENTS)
    const change = {
      ...{ name: 'issue one SIM, with vault, files and audit', path: '/v1/sims', body: {} },
      tables: ['sims_sim', 'sims_batch', 'kernel_audit', 'kernel_outbox'],
    }
    return [
      await changeLine(change, DESK_CLIENTS),
      most(`CPU of issuing one SIM, ${DESK_CLIENTS} clients`, issued.cpuMs, 'ms', 0.5, {
        target: `≤ 0.5 ms (${PEERS})`,
      }),
      least(`issuing one SIM, ${DESK_CLIENTS} clients`, issued.perSecond, '/s', 2_000, {
        target: '≥ 2000/s',
      }),
      line(`own keys, one SIM a request, ${DESK_CLIENTS} clients`, many, '/s', many > one, {
        beside: ['one client', one],
        target: 'more than one client',
      }),
    ]
  },
})

/** SIMs a second, each imported by a request of its own. */
async function ownKeys(service: Service, clients: number): Promise<number> {
  const first = clients * 10_000_000
  let number = first
  const ms = await timed(async () => {
    const end = performance.now() + 1_000 * DESK_SECONDS
    const client = async (): Promise<void> => {
      while (performance.now() < end) {
        number += 1
        await importSims(service, simsCsv(number, 1, ['iccid']), 1)
      }
    }
    await Promise.all(Array.from({ length: clients }, client))
  })
  return ((number - first) * 1_000) / ms
}

type Row = Record<string, unknown>
/** One table that a change writes to: its DDL and one real row. */
interface TableTemplate {
  readonly name: string
  readonly ddl: readonly string[]
  readonly row: Row
}

/** The DDL and the newest row of each table of a store file. */
export function templatesOf(path: string, tables: readonly string[]): readonly TableTemplate[] {
  const db = new Database(path, { readonly: true })
  const ddl = db.prepare(
    "select sql from sqlite_master where tbl_name = ? and type <> 'trigger' and sql is not null",
  )
  const templates = tables.map((name) => ({
    name,
    ddl: (ddl.all(name) as { sql: string }[]).map(({ sql }) => sql),
    row: db.prepare(`select * from ${name} order by rowid desc limit 1`).get() as Row,
  }))
  db.close()
  return templates
}

/** Rows per second that the bare binding inserts into every table, `perCommit` of each in a commit. */
export async function bareInserts(
  templates: readonly TableTemplate[],
  perCommit: number,
  seconds: number,
): Promise<number> {
  await using folder = await tempDir('steeple-bench-')
  const db = new Database(join(folder.path, 'bare.db'))
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = full')
  for (const { ddl } of templates) for (const sql of ddl) db.exec(sql)
  const inserts = templates.map(({ name, row }) => {
    const places = Object.keys(row).map(() => '?')
    const statement = db.prepare(`insert into ${name} values (${places.join(', ')})`)
    return (n: number) =>
      statement.run(...Object.entries(row).map(([column, value]) => unique(column, value, n)))
  })
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const startedAt = performance.now()
  let n = 0
  while (performance.now() - startedAt < seconds * 1_000) {
    begin.run()
    for (let i = 0; i < perCommit; i++) {
      n++
      for (const insert of inserts) insert(n)
    }
    commit.run()
  }
  const perSecond = n / ((performance.now() - startedAt) / 1_000)
  db.close()
  return perSecond
}

/** Keys must differ from row to row as they do in life. */
function unique(column: string, value: unknown, n: number): unknown {
  const spread = String(n * 2_654_435_761)
  if (column === 'seq') return n
  if (column === 'id') return typeof value === 'number' ? n : `${spread.slice(-8)}-${value}`
  if (column === 'token_sha256' || column === 'hash')
    return `${spread.slice(-10).padStart(10, '0')}${String(value).slice(10)}`
  return value
}

/** What changes take. */
export const CHANGES: readonly Bench[] = [mutation, issue]
