import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { constants, setPriority } from 'node:os'
import { text } from 'node:stream/consumers'
import { NEWEST_MIGRATIONS } from './migrate.ts'

/** The package of the one SQLite binding of the product (docs/adr/0003-sqlite-binding.md). */
export const SQLITE_PACKAGE = 'better-sqlite3'

/** What a program begins and ends with; `path` and `more` are its arguments, `Connection` the binding. */
const around = (body: string): string => `
const [, binding, path, more] = process.argv
const parent = process.ppid
const work = (Connection) => {${body}}
try {
  process.stdout.write(JSON.stringify({ done: work(require(binding)) }))
} catch (error) {
  process.stdout.write(JSON.stringify({ failed: String(error.message) }))
}
`

interface Answer {
  readonly done?: unknown
  readonly failed?: string
}

/**
 * Runs what takes SQLite long in a process with its own connection; the service goes on meanwhile. It is no thread, since
 * SQLite cannot be told to stop amid a statement, and a thread that is ended while it is in native code takes the service
 * with it. `priority` is the system's, of the whole process from its start on. Gives what `body` returns, as JSON; rejects with what it throws, and when the signal ends it.
 */
export async function runSqliteProgram(
  body: string,
  args: readonly string[],
  priority: number,
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted()
  const binding = createRequire(import.meta.url).resolve(SQLITE_PACKAGE)
  const child = spawn(process.execPath, ['-e', around(body), '--', binding, ...args], {
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    if (child.pid !== undefined) setPriority(child.pid, priority)
  } catch {
    // It is polite, and works without; or it has ended.
  }
  const stop = (): void => void child.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  try {
    const ended = once(child, 'close')
    const [answer] = await Promise.all([text(child.stdout), ended])
    signal.throwIfAborted()
    if (answer === '') throw new Error('the process that reads the store ended without an answer')
    const { done, failed } = JSON.parse(answer) as Answer // `around` wrote it
    if (failed !== undefined) throw new Error(failed)
    return done
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/**
 * One read transaction, so the copy is the store of one moment however much is written meanwhile; writers go on, since WAL
 * keeps what they write beside it. Rows are written anew, so nothing that was deleted is left in the copy.
 */
const COPY_PROGRAM = `
const connection = new Connection(path, { readonly: true, timeout: 5000 })
connection.pragma('cache_size = -4096')
connection.prepare('vacuum into ?').run(more)
connection.close()
const copy = new Connection(more, { readonly: true })
const tables = copy.prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name").all()
const counts = {}
for (const { name } of tables) counts[name] = copy.prepare('select count(*) as n from "' + name + '"').get().n
const newest = copy.prepare(${JSON.stringify(NEWEST_MIGRATIONS)}).all()
copy.close()
return { counts, schema: Object.fromEntries(newest.map(({ owner, id }) => [owner, id])) }
`

export interface StoreCopy {
  /** Rows by table. */
  readonly counts: Readonly<Record<string, number>>
  /** The newest migration of each owner of tables. */
  readonly schema: Readonly<Record<string, string>>
}

/**
 * Writes the store file at `path` as it is at one moment to `target`, which must not exist; in a process of its own, which
 * an abort ends. Rejects when the disk is full or the file is damaged.
 */
export async function copySqlite(path: string, target: string, signal: AbortSignal): Promise<StoreCopy> {
  const { PRIORITY_BELOW_NORMAL } = constants.priority
  return (await runSqliteProgram(COPY_PROGRAM, [path, target], PRIORITY_BELOW_NORMAL, signal)) as StoreCopy // our own program wrote it
}
