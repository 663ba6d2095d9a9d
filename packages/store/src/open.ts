import { type Clock, type Log, messageOf, storeInvalid } from '@steeple/contracts'
import type { Backend, Database, WriterTx } from './database.ts'
import { fallBack, migrate } from './migrate.ts'
import { postgresBackend } from './postgres.ts'
import { openSqliteConnections, sqliteBackend } from './sqlite-backend.ts'
import { checkAnswered } from './wal-check.ts'
import { createWriter, scopedDb } from './writer.ts'

/** What a store needs. `url` is `sqlite:<path>` or `postgres://…`. */
interface StoreOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Log
  /**
   * Asked when a job is given: what must hold in its transaction before it runs. The job is undone with what the check
   * throws.
   */
  readonly guard?: () => ((tx: WriterTx) => Promise<void>) | undefined
}

/**
 * Opens the store. A PostgreSQL that does not answer is no reason to fail: reads and writes say `store_unavailable`
 * until it does. Throws `store_invalid` for a damaged file or an unknown url.
 */
export async function openDatabase(options: StoreOptions): Promise<Database> {
  return databaseOver(await openBackend(options.url), options)
}

async function openBackend(url: string): Promise<Backend> {
  if (/^postgres(ql)?:\/\//.test(url)) return postgresBackend(url)
  const path = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ''
  if (path === '' || path === ':memory:')
    throw storeInvalid('store.url must be sqlite:<path of a file> or postgres://…')
  await checkAnswered(path)
  return sqliteBackend(path, openSqliteConnections(path))
}

/** The store over an opened backend, which it closes. */
export function databaseOver(backend: Backend, { clock, log, guard }: Omit<StoreOptions, 'url'>): Database {
  const { reader, dialect } = backend
  const writer = createWriter(backend.writer, log, () => backend.lost())
  let closing: Promise<void> | undefined
  const closeAll = async (): Promise<void> => {
    await writer.close()
    await backend.close()
  }
  const transact: Database['transact'] = (job, limitMs) => {
    const check = guard?.()
    if (check === undefined) return writer.transact(job, limitMs)
    return writer.transact(async (tx) => {
      await check(tx)
      return await job(tx)
    }, limitMs)
  }
  return {
    dialect,
    side: backend.side,
    get: (sql, params) => reader.get(sql, params),
    all: (sql, params) => reader.all(sql, params),
    transact,
    migrate: (owner, migrations, tables = []) => migrate({ writer, clock, log, owner, migrations, tables }),
    fallBack: (owner, tables) => fallBack(writer, owner, tables),
    scoped: (owner) => scopedDb(owner, reader, { dialect, transact }),
    fileProblems: (signal) => backend.fileProblems(signal),
    mayMissRows: () => backend.mayMissRows(),
    copyTo: (target, signal) => backend.copyTo(target, signal),
    probe: async () => {
      try {
        const lost = backend.lost()
        if (lost === undefined) await reader.get('select 1 as one')
        return lost
      } catch (error) {
        return messageOf(error)
      }
    },
    writeTrouble: () => writer.trouble(),
    writeFailures: () => writer.failures(),
    close: () => {
      closing ??= closeAll()
      return closing
    },
  }
}
