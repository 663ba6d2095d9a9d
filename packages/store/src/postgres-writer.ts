import { type SqlParams, type SqlValue, storeUnavailable } from '@steeple/contracts'
import type { Client, QueryConfig, QueryResult } from 'pg'
import { StatementCache, sqlCompiler, valuesOf } from './compiler.ts'
import type { WriterSession } from './database.ts'
import { clientLimitMs, STATEMENT_LIMIT_MS } from './postgres-settings.ts'
import { isConnectionError, postgresError } from './store-error.ts'

/** A statement as the client takes it: the server prepares it once per connection under its name. */
interface NamedQuery {
  readonly name: string
  readonly text: string
  readonly values: SqlValue[]
}

/** Gives the named query of a text and its values. */
export type QueryMaker = (sql: string, params: SqlParams | undefined) => NamedQuery

/** A maker whose names never mean two texts. */
export function queryMaker(): QueryMaker {
  const compile = sqlCompiler('postgres')
  let made = 0
  const statements = new StatementCache((sql) => ({ ...compile(sql), name: `s${made++}` }))
  return (sql, params) => {
    const { name, text, names } = statements.get(sql)
    return { name, text, values: valuesOf<SqlValue>(names, params ?? {}) }
  }
}

/**
 * One writer at a time over all instances, so that the audit chain has one order: whoever holds the lock of this row
 * (docs/adr/0014-several-instances.md).
 */
const BEGIN = 'begin; select id from kernel_writer where id = 1 for update'
/** After a write that failed: who holds the lock may hold it for as long as a standby is away, and others wait behind this one. */
const HURRIED_BEGIN = BEGIN.replace(';', '; set local lock_timeout = 1000;')
/** A commit that waits for a standby holds the lock, whoever has given up waiting for it. The wait has no end of its own. */
const WAITS_FOR_STANDBY = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'SyncRep'`
const MAKE_LOCK = `create table if not exists kernel_writer (id integer not null primary key);
  insert into kernel_writer (id) values (1) on conflict do nothing`
/** SQLSTATE undefined_table. */
const NO_TABLE = '42P01'
/** Instances that make the row at the same time see each other's halves. */
const MAKE_ATTEMPTS = 5

const STANDBY_AWAY =
  'the database waits for a standby to confirm what was written before (synchronous_standby_names); bring it back, or take it out of that setting'
const UNANSWERED =
  'the database has not said whether it has committed: whether this change holds is not known. Look, or repeat it with its Idempotency-Key'

/** Whether the server has not said how a commit ended: it may hold all the same. */
function isUnanswered(error: unknown): boolean {
  const { cause } = error as { readonly cause?: unknown }
  return cause instanceof Error && isConnectionError(cause)
}

/** The one connection of the writer. It connects by itself, at first and after each loss. */
interface WriterConnection {
  isUp(): boolean
  connect(): Promise<void>
  /** Sends over the connection that there is and waits so long at most; a lost one is not made again by itself. */
  send(query: QueryConfig, waitMs: number): Promise<QueryResult>
  /** Lets go of it. Nobody waits for a connection that is already of no use. */
  drop(): void
  close(): Promise<void>
}

/** `lost`: told when the connection goes, and the transaction on it. */
function writerConnection(make: () => Client, lost: () => void): WriterConnection {
  let client: Client | undefined
  const drop = (gone: Client): void => {
    if (gone !== client) return
    client = undefined
    lost()
    gone.end().catch(() => undefined)
  }
  return {
    isUp: () => client !== undefined,
    connect: async () => {
      if (client !== undefined) return
      const fresh = make()
      fresh.on('error', () => drop(fresh))
      fresh.on('end', () => drop(fresh))
      try {
        await fresh.connect()
      } catch (error) {
        fresh.end().catch(() => undefined)
        throw postgresError(error)
      }
      client = fresh
    },
    send: async (query, waitMs) => {
      const current = client
      if (current === undefined) throw storeUnavailable('the connection to the database was lost; try again')
      try {
        // pg takes query_timeout with each query; its types do not say so.
        const bounded: QueryConfig & { query_timeout: number } = {
          ...query,
          query_timeout: waitMs,
        }
        return await current.query(bounded)
      } catch (error) {
        if (error instanceof Error && isConnectionError(error)) drop(current)
        throw postgresError(error)
      }
    },
    drop: () => {
      if (client !== undefined) drop(client)
    },
    close: async () => {
      const last = client
      client = undefined
      await last?.end()
    },
  }
}

/** How a transaction begins: with the lock that all writers share. */
interface LockedBegin {
  begin(longerMs: number | undefined): Promise<void>
  /** Whether a commit may hold the lock that nobody waits for any more. */
  isHurried: boolean
}

function lockedBegin(
  connection: WriterConnection,
  send: (text: string) => Promise<QueryResult>,
): LockedBegin {
  /** The very first begin in a database finds no row to lock. */
  async function makeLock(): Promise<void> {
    await send('rollback')
    for (let left = MAKE_ATTEMPTS; ; left -= 1) {
      try {
        await send(MAKE_LOCK)
        return
      } catch (error) {
        if (left === 1 || !connection.isUp()) throw error
      }
    }
  }

  /** Why the lock is not to be had, where the database says it. */
  async function explained(error: unknown): Promise<unknown> {
    if (!connection.isUp()) return error
    await send('rollback').catch(() => undefined)
    const found = await send(WAITS_FOR_STANDBY).catch(() => undefined)
    if (!found?.rowCount) return error
    locked.isHurried = true
    return storeUnavailable(STANDBY_AWAY, { cause: error })
  }

  const locked: LockedBegin = {
    isHurried: false,
    begin: async (longerMs) => {
      const begin = locked.isHurried ? HURRIED_BEGIN : BEGIN
      const text =
        longerMs === undefined ? begin : `${begin}; set local statement_timeout = ${Math.round(longerMs)}`
      try {
        await send(text)
      } catch (error) {
        if ((error as { code?: unknown }).code !== NO_TABLE) throw await explained(error)
        await makeLock()
        await send(text)
      }
    },
  }
  return locked
}

export function postgresWriter(
  connect: () => Client,
  query: QueryMaker,
): WriterSession & { close(): Promise<void> } {
  let isOpen = false
  let limitMs = STATEMENT_LIMIT_MS
  const connection = writerConnection(connect, () => {
    isOpen = false
  })
  const send = (query: QueryConfig): Promise<QueryResult> => connection.send(query, clientLimitMs(limitMs))

  async function rows<Row>(sql: string, params: SqlParams | undefined): Promise<readonly Row[]> {
    // The caller names the row type; the statement's column list is what it relies on.
    return (await send(query(sql, params))).rows as Row[]
  }

  const control = async (text: string): Promise<void> => {
    await send({ text })
  }
  const locked = lockedBegin(connection, (text) => send({ text }))

  return {
    failsAsWhole: true,
    isOpen: () => isOpen,
    get: async <Row>(sql: string, params?: SqlParams) => (await rows<Row>(sql, params))[0],
    all: rows,
    run: async (sql, params) => (await send(query(sql, params))).rowCount ?? 0,
    begin: async (longerMs) => {
      limitMs = longerMs ?? STATEMENT_LIMIT_MS
      await connection.connect()
      await locked.begin(longerMs)
      isOpen = true
    },
    commit: async () => {
      // The server bounds no commit, and one that waits for a standby waits for ever.
      const result = await connection.send({ text: 'commit' }, limitMs).catch((error: unknown) => {
        locked.isHurried ||= isUnanswered(error)
        throw isUnanswered(error) ? storeUnavailable(UNANSWERED, { cause: error }) : error
      })
      isOpen = false
      locked.isHurried = false
      // A transaction that had failed answers COMMIT with ROLLBACK and no error.
      if (result.command !== 'COMMIT') throw storeUnavailable('the database did not commit; try again')
    },
    rollback: async () => {
      isOpen = false
      await control('rollback').catch(() => connection.drop())
    },
    mark: (savepoint) => control(`savepoint ${savepoint}`),
    release: (savepoint) => control(`release savepoint ${savepoint}`),
    undoTo: (savepoint) => control(`rollback to savepoint ${savepoint}`),
    close: () => connection.close(),
  }
}
