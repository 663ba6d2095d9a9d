import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'

type Row = Record<string, unknown>

/** One table that a mutation writes to: its DDL and one real row. */
export interface TableTemplate {
  readonly name: string
  readonly ddl: readonly string[]
  readonly row: Row
}

/** The DDL and the newest row of each table of a store file. */
export function templatesOf(path: string, tables: readonly string[]): readonly TableTemplate[] {
  const db = new Database(path, { readonly: true })
  const templates = tables.map((name) => ({
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

/** Rows per second that the bare binding inserts into every table, `perCommit` of each in a commit. */
export function bareInserts(templates: readonly TableTemplate[], perCommit: number, seconds: number): number {
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
    while (performance.now() - startedAt < seconds * 1000) {
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
