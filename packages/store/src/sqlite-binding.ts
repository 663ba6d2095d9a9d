import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FileProblem } from './sqlite-backend.ts'
import { runSqliteProgram, SQLITE_PACKAGE } from './sqlite-program.ts'

/** A prepared statement of the binding. Values are given in placeholder order. */
export interface SqliteStatement {
  readonly reader: boolean
  get(...values: readonly unknown[]): unknown
  all(...values: readonly unknown[]): unknown[]
  run(...values: readonly unknown[]): { readonly changes: number }
}

/** One connection of the binding. Everything on it is synchronous. */
export interface SqliteConnection {
  readonly inTransaction: boolean
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
  pragma(text: string, options?: { readonly simple?: boolean }): unknown
  close(): unknown
}

type Binding = new (
  path: string,
  options: { readonly readonly?: boolean; readonly timeout?: number; readonly fileMustExist?: boolean },
) => SqliteConnection

/**
 * How long a statement waits for another *process* that holds the file (a command beside the service), ms, which blocks the
 * event loop meanwhile. The writer of an open store has a way of its own.
 */
const BUSY_TIMEOUT_MS = 1_000

/**
 * Opens a connection with the one SQLite binding of the product. This file alone knows which one that is
 * (docs/adr/0003-sqlite-binding.md).
 */
export function openSqliteConnection(path: string, mode: 'read' | 'write'): SqliteConnection {
  const require = createRequire(import.meta.url)
  // The package has no type declarations; the interfaces above are the part of it that is used.
  const Connection = require(SQLITE_PACKAGE) as Binding
  return new Connection(path, {
    readonly: mode === 'read',
    timeout: BUSY_TIMEOUT_MS,
    fileMustExist: mode === 'read',
  })
}

/** A check of a file of 1 MiB takes 10 ms, of which the longest table has 2; a process of its own takes 60 to begin with. */
const SMALL_BYTES = 2 * 1_048_576
const MOST_PROBLEMS = 100
const TABLES = "select name from sqlite_schema where type = 'table' order by name"

/** Table by table, as a process of the lowest priority: it takes what nobody else wants. */
const INTEGRITY_PROGRAM = `
const connection = new Connection(path, { readonly: true, timeout: 5000 })
const tables = connection.prepare("${TABLES}").all()
const found = []
for (const name of ['sqlite_schema', ...tables.map((table) => table.name)]) {
  if (found.length >= ${MOST_PROBLEMS} || process.ppid !== parent) break
  for (const row of connection.pragma("integrity_check('" + name.replaceAll("'", "''") + "')"))
    if (row.integrity_check !== 'ok') found.push({ table: name, reason: String(row.integrity_check) })
}
connection.close()
return found.slice(0, ${MOST_PROBLEMS})
`

/**
 * Runs SQLite's own integrity check on a connection of its own; of a large file in a process, so that the service goes on
 * meanwhile. Gives SQLite's findings, at most 100; empty when the file is sound. Rejects when the file cannot even be read.
 */
export async function sqliteFileProblems(path: string, signal: AbortSignal): Promise<readonly FileProblem[]> {
  signal.throwIfAborted()
  const connection = openSqliteConnection(path, 'read')
  try {
    if (bytesIn(connection) <= SMALL_BYTES) return await problemsOfSmall(connection, signal)
  } finally {
    connection.close()
  }
  const { PRIORITY_LOW } = constants.priority
  return (await runSqliteProgram(INTEGRITY_PROGRAM, [path], PRIORITY_LOW, signal)) as readonly FileProblem[] // our own program wrote it
}

/** Of what there is to check: the write-ahead log beside the file keeps its length, whatever of it counts. */
function bytesIn(connection: SqliteConnection): number {
  const of = (name: string): number => Number(connection.pragma(name, { simple: true }))
  return of('page_count') * of('page_size')
}

/** What `INTEGRITY_PROGRAM` does, a table in each turn of the event loop. */
async function problemsOfSmall(
  connection: SqliteConnection,
  signal: AbortSignal,
): Promise<readonly FileProblem[]> {
  const tables = connection.prepare(TABLES).all() as readonly { readonly name: string }[] // as selected
  const found: FileProblem[] = []
  for (const name of ['sqlite_schema', ...tables.map((table) => table.name)]) {
    if (found.length >= MOST_PROBLEMS) break
    await nextTurn()
    signal.throwIfAborted()
    const rows = connection.pragma(`integrity_check('${name.replaceAll("'", "''")}')`)
    for (const { integrity_check: words } of rows as readonly { readonly integrity_check: unknown }[])
      if (words !== 'ok') found.push({ table: name, reason: String(words) })
  }
  return found.slice(0, MOST_PROBLEMS)
}
