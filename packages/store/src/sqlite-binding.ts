import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'

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

const PACKAGE = 'better-sqlite3'

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
  const Connection = require(PACKAGE) as Binding
  return new Connection(path, {
    readonly: mode === 'read',
    timeout: BUSY_TIMEOUT_MS,
    fileMustExist: mode === 'read',
  })
}

/**
 * Table by table, as a process of the lowest priority: it takes what nobody else wants. It is no thread, since SQLite
 * cannot be told to stop amid a check, and a thread that is ended while it is in native code takes the service with it.
 */
const INTEGRITY_PROGRAM = `
const { setPriority, constants } = require('node:os')
const [, binding, path] = process.argv
const parent = process.ppid
try {
  setPriority(constants.priority.PRIORITY_LOW)
} catch {}
try {
  const Connection = require(binding)
  const connection = new Connection(path, { readonly: true, timeout: 5000 })
  const tables = connection.prepare("select name from sqlite_schema where type = 'table' order by name").all()
  const found = []
  for (const name of ['sqlite_schema', ...tables.map((table) => table.name)]) {
    if (found.length >= 100 || process.ppid !== parent) break
    for (const row of connection.pragma("integrity_check('" + name.replaceAll("'", "''") + "')"))
      if (row.integrity_check !== 'ok') found.push(String(row.integrity_check))
  }
  connection.close()
  process.stdout.write(JSON.stringify({ found: found.slice(0, 100) }))
} catch (error) {
  process.stdout.write(JSON.stringify({ failed: String(error.message) }))
}
`

/** What the program answers: SQLite's findings, or why it could not look. */
interface IntegrityAnswer {
  readonly found?: readonly string[]
  readonly failed?: string
}

/**
 * Runs SQLite's own integrity check in a process with its own connection; the service goes on meanwhile.
 * Gives SQLite's findings, at most 100; empty when the file is sound. Rejects when the file cannot even be read.
 */
export async function sqliteFileProblems(path: string, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted()
  const binding = createRequire(import.meta.url).resolve(PACKAGE)
  const child = spawn(process.execPath, ['-e', INTEGRITY_PROGRAM, '--', binding, path], {
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const stop = (): void => void child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  try {
    const ended = once(child, 'close')
    const [answer] = await Promise.all([text(child.stdout), ended])
    signal.throwIfAborted()
    return findingsIn(answer)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function findingsIn(answer: string): readonly string[] {
  if (answer === '') throw new Error('the integrity check ended without an answer')
  const { found, failed } = JSON.parse(answer) as IntegrityAnswer // our own program wrote it
  if (found === undefined) throw new Error(failed)
  return found
}
