import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { startService } from '../harness/service.ts'
import { type Finding, load, median } from './measure.ts'

const ROUNDS = 3
const SECONDS = 3
const LEAST_PER_SECOND = 800
const LEAST_SHARE = 0.3
const TABLES = ['access_token', 'kernel_audit', 'kernel_outbox'] as const

type Row = Record<string, unknown>

/**
 * Durable audited mutations over HTTP (POST /v1/tokens), beside the bare binding doing the same inserts with the same
 * number of them in each commit.
 */
export async function benchMutation(): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  for (const clients of [8, 32]) {
    const ours: number[] = []
    const bare: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const service = await startService({ flags: ['--log-level', 'info'] })
      const result = await load({
        url: `${service.url}/v1/tokens`,
        connections: clients,
        seconds: SECONDS,
        method: 'POST',
        headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'bench', roles: ['viewer'] }),
      })
      if (result.non2xx > 0 || result.errors > 0)
        throw new Error(`${result.non2xx} answers were not 2xx, ${result.errors} failed`)
      ours.push(result.perSecond)
      const templates = templatesOf(join(service.dataDir, 'svc.db'))
      await service.stop()
      bare.push(bareInserts(templates, clients))
    }
    const value = median(ours)
    const ceiling = median(bare)
    findings.push({
      name: `durable mutation with audit, ${clients} clients`,
      value,
      unit: '/s',
      beside: { what: `bare binding, same inserts, ${clients} per commit`, value: ceiling },
      target: `≥ ${LEAST_SHARE * 100} % of bare and ≥ ${LEAST_PER_SECOND}/s`,
      isMet: value >= LEAST_SHARE * ceiling && value >= LEAST_PER_SECOND,
    })
  }
  return findings
}

/** The DDL and one real row of each table that a mutation writes. */
function templatesOf(
  path: string,
): readonly { readonly name: string; readonly ddl: readonly string[]; readonly row: Row }[] {
  const db = new Database(path, { readonly: true })
  const templates = TABLES.map((name) => ({
    name,
    ddl: (
      db
        .prepare("select sql from sqlite_master where tbl_name = ? and type <> 'trigger' and sql is not null")
        .all(name) as { sql: string }[]
    ).map(({ sql }) => sql),
    row: db.prepare(`select * from ${name} order by rowid desc limit 1`).get() as Row,
  }))
  db.close()
  return templates
}

function bareInserts(templates: ReturnType<typeof templatesOf>, perCommit: number): number {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-bench-'))
  const db = new Database(join(folder, 'bare.db'))
  try {
    db.pragma('journal_mode = wal')
    db.pragma('synchronous = full')
    for (const { ddl } of templates) for (const sql of ddl) db.exec(sql)
    const inserts = templates.map(({ name, row }) => ({
      statement: db.prepare(
        `insert into ${name} values (${Object.keys(row)
          .map(() => '?')
          .join(', ')})`,
      ),
      values: (n: number) => Object.entries(row).map(([column, value]) => unique(column, value, n)),
    }))
    const begin = db.prepare('begin immediate')
    const commit = db.prepare('commit')
    const startedAt = performance.now()
    let n = 0
    while (performance.now() - startedAt < SECONDS * 1000) {
      begin.run()
      for (let i = 0; i < perCommit; i++) {
        n++
        for (const insert of inserts) insert.statement.run(...insert.values(n))
      }
      commit.run()
    }
    return n / ((performance.now() - startedAt) / 1000)
  } finally {
    db.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Keys must differ from row to row as they do in life. */
function unique(column: string, value: unknown, n: number): unknown {
  if (column === 'seq') return n
  if (column === 'id')
    return typeof value === 'number' ? n : `${String(n * 2_654_435_761).slice(-8)}-${value}`
  if (column === 'token_sha256' || column === 'hash')
    return `${String(n * 2_654_435_761)
      .slice(-10)
      .padStart(10, '0')}${String(value).slice(10)}`
  return value
}
