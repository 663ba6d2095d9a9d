import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

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
 * How long a statement waits for another *process* that writes (a command beside the service), ms. It blocks the event
 * loop meanwhile, so it is short.
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

const INTEGRITY_WORKER = `
const { parentPort, workerData } = require('node:worker_threads')
const Connection = require(workerData.binding)
const connection = new Connection(workerData.path, { readonly: true, timeout: 5000 })
const rows = connection.pragma('integrity_check(100)')
connection.close()
parentPort.postMessage(rows.map((row) => String(row.integrity_check)))
`

/**
 * Runs SQLite's own integrity check in a thread with its own connection; the service goes on meanwhile.
 * Gives SQLite's findings, at most 100; empty when the file is sound. Rejects when the file cannot even be read.
 */
export async function sqliteFileProblems(path: string, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted()
  const binding = createRequire(import.meta.url).resolve(PACKAGE)
  const worker = new Worker(INTEGRITY_WORKER, { eval: true, workerData: { binding, path } })
  const stop = (): void => void worker.terminate()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const found = await new Promise<readonly string[]>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () =>
        reject(signal.reason ?? new Error('the integrity check ended without an answer')),
      )
    })
    return found.filter((line) => line !== 'ok')
  } finally {
    signal.removeEventListener('abort', stop)
    await worker.terminate()
  }
}
