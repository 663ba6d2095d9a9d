import { type Reader, type SqlParams, type SqlValue, storeUnavailable } from '@steeple/contracts'
import type { Client, Pool, QueryConfig, QueryResult } from 'pg'
import { StatementCache, sqlCompiler, valuesOf } from './compiler.ts'
import type { Backend, SideConnection, WriterSession } from './database.ts'
import { copyPostgres } from './postgres-copy.ts'
import { clientLimitMs, numbersOf, postgresSettings, STATEMENT_LIMIT_MS } from './postgres-settings.ts'
import { isConnectionError, postgresError } from './store-error.ts'

/** A statement as the client takes it: the server prepares it once per connection under its name. */
interface NamedQuery {
  readonly name: string
  readonly text: string
  readonly values: SqlValue[]
}

/** Gives the named query of a text and its values. */
type QueryMaker = (sql: string, params: SqlParams | undefined) => NamedQuery

/** A maker whose names never mean two texts. */
function queryMaker(): QueryMaker {
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

/**
 * The one connection of the writer. It connects by itself, at first and after each loss. `lost`: told when the connection goes, and the
 * transaction on it.
 */
function writerConnection(make: () => Client, lost: () => void) {
  let client: Client | undefined
  const drop = (gone: Client): void => {
    if (gone !== client) return
    client = undefined
    lost()
    gone.end().catch(() => undefined)
  }
  return {
    isUp: (): boolean => client !== undefined,
    connect: async (): Promise<void> => {
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
    /** Sends over the connection that there is and waits so long at most; a lost one is not made again by itself. */
    send: async (query: QueryConfig, waitMs: number): Promise<QueryResult> => {
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
    /** Lets go of it. Nobody waits for a connection that is already of no use. */
    drop: (): void => {
      if (client !== undefined) drop(client)
    },
    close: async (): Promise<void> => {
      const last = client
      client = undefined
      await last?.end()
    },
  }
}

/** How a transaction begins: with the lock that all writers share. */
function lockedBegin(
  connection: ReturnType<typeof writerConnection>,
  send: (text: string) => Promise<QueryResult>,
) {
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

  const locked = {
    /** Whether a commit may hold the lock that nobody waits for any more. */
    isHurried: false,
    begin: async (longerMs: number | undefined): Promise<void> => {
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

function postgresWriter(
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

/** Connections that read at the same time. */
const MOST_READERS = 4

function postgresReader(pool: Pool, query: QueryMaker): Reader {
  const all = async <Row>(sql: string, params?: SqlParams): Promise<readonly Row[]> => {
    try {
      // The caller names the row type; the statement's column list is what it relies on.
      return (await pool.query(query(sql, params))).rows as Row[]
    } catch (error) {
      throw postgresError(error)
    }
  }
  return { all, get: async <Row>(sql: string, params?: SqlParams) => (await all<Row>(sql, params))[0] }
}

/** The PostgreSQL dialect at `url`. Opens connections when they are needed; a lost one is made again by itself. */
export async function postgresBackend(url: string): Promise<Backend> {
  const { Client, Pool, types } = await import('pg')
  const numbers = numbersOf(types)
  const query = queryMaker()
  const pool = new Pool({ ...postgresSettings(url, 'read', numbers), max: MOST_READERS })
  // An idle connection that breaks leaves the pool; the next read opens another.
  pool.on('error', () => undefined)
  const writer = postgresWriter(() => new Client(postgresSettings(url, 'write', numbers)), query)
  const side = postgresSide(() => new Client(postgresSettings(url, 'side', numbers)), query)
  return {
    dialect: 'postgres',
    reader: postgresReader(pool, query),
    writer,
    side,
    // The server watches its own files.
    lost: () => undefined,
    fileProblems: async () => [],
    mayMissRows: () => false,
    copyTo: (target, signal) =>
      copyPostgres(() => new Client(postgresSettings(url, 'copy', numbers)), target, signal),
    close: async () => {
      await Promise.all([writer.close(), side.close(), pool.end()])
    },
  }
}

/** The connection beside reader and writer. It connects when it is asked, at first and after each loss. */
function postgresSide(connect: () => Client, query: QueryMaker): SideConnection {
  const heard = new Map<string, () => void>()
  let current: Promise<Client> | undefined
  let isClosed = false

  const drop = (lost: Promise<Client>): void => {
    if (current === lost) current = undefined
    lost.then((client) => client.end()).catch(() => undefined)
  }
  const open = async (dropped: () => void): Promise<Client> => {
    const client = connect()
    client.on('error', dropped)
    client.on('end', dropped)
    client.on('notification', ({ channel }) => heard.get(channel)?.())
    try {
      await client.connect()
      for (const channel of heard.keys()) await client.query(`listen ${channel}`)
      return client
    } catch (error) {
      client.end().catch(() => undefined)
      throw error
    }
  }
  const connected = (): Promise<Client> => {
    if (isClosed) return Promise.reject(new Error('the connection is closed'))
    if (current !== undefined) return current
    const opening: Promise<Client> = open(() => drop(opening))
    current = opening
    opening.catch(() => drop(opening))
    return opening
  }
  const send = async (ask: (client: Client) => Promise<QueryResult>): Promise<QueryResult> => {
    let used: Promise<Client> | undefined
    try {
      used = connected()
      return await ask(await used)
    } catch (error) {
      if (used !== undefined && error instanceof Error && isConnectionError(error)) drop(used)
      throw postgresError(error)
    }
  }
  return {
    // The caller names the row type; the statement's column list is what it relies on.
    all: async <Row>(sql: string, params?: SqlParams) =>
      (await send((client) => client.query(query(sql, params)))).rows as Row[],
    listen: async (channel, listener) => {
      await send((client) => client.query(`listen ${channel}`))
      heard.set(channel, listener)
    },
    close: async () => {
      isClosed = true
      const last = await current?.catch(() => undefined)
      await last?.end().catch(() => undefined)
    },
  }
}
