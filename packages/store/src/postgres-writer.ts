import type { SqlParams } from '@steeple/contracts'
import { storeUnavailable } from '@steeple/contracts'
import type { Client, QueryConfig, QueryResult } from 'pg'
import type { WriterSession } from './backend.ts'
import { clientLimitMs, STATEMENT_LIMIT_MS } from './postgres-settings.ts'
import type { QueryMaker } from './postgres-statements.ts'
import { isConnectionError, postgresError } from './store-error.ts'

/**
 * One writer at a time over all instances, so that the audit chain has one order: whoever holds the lock of this row
 * (docs/adr/0014-several-instances.md).
 */
const BEGIN = 'begin; select id from kernel_writer where id = 1 for update'
const MAKE_LOCK = `create table if not exists kernel_writer (id integer not null primary key);
  insert into kernel_writer (id) values (1) on conflict do nothing`
/** SQLSTATE undefined_table. */
const NO_TABLE = '42P01'
/** Instances that make the row at the same time see each other's halves. */
const MAKE_ATTEMPTS = 5

/** The one connection of the writer. It connects by itself, at first and after each loss. */
interface WriterConnection {
  isUp(): boolean
  connect(): Promise<void>
  /** Sends over the connection that there is, for at most so long; a lost one is not made again by itself. */
  send(query: QueryConfig, limitMs: number): Promise<QueryResult>
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
    send: async (query, limitMs) => {
      const current = client
      if (current === undefined) throw storeUnavailable('the connection to the database was lost; try again')
      try {
        // pg takes query_timeout with each query; its types do not say so.
        const bounded: QueryConfig & { query_timeout: number } = {
          ...query,
          query_timeout: clientLimitMs(limitMs),
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

/** The writer's session on PostgreSQL. */
export function postgresWriter(
  connect: () => Client,
  query: QueryMaker,
): WriterSession & { close(): Promise<void> } {
  let isOpen = false
  let limitMs = STATEMENT_LIMIT_MS
  const connection = writerConnection(connect, () => {
    isOpen = false
  })
  const send = (query: QueryConfig): Promise<QueryResult> => connection.send(query, limitMs)

  async function rows<Row>(sql: string, params: SqlParams | undefined): Promise<readonly Row[]> {
    // The caller names the row type; the statement's column list is what it relies on.
    return (await send(query(sql, params))).rows as Row[]
  }

  const control = async (text: string): Promise<void> => {
    await send({ text })
  }

  /** The very first begin in a database finds no row to lock. */
  async function makeLock(): Promise<void> {
    await control('rollback')
    for (let left = MAKE_ATTEMPTS; ; left -= 1) {
      try {
        await control(MAKE_LOCK)
        return
      } catch (error) {
        if (left === 1 || !connection.isUp()) throw error
      }
    }
  }

  async function begin(text: string): Promise<void> {
    try {
      await control(text)
    } catch (error) {
      if ((error as { code?: unknown }).code !== NO_TABLE) throw error
      await makeLock()
      await control(text)
    }
  }

  return {
    failsAsWhole: true,
    isOpen: () => isOpen,
    get: async <Row>(sql: string, params?: SqlParams) => (await rows<Row>(sql, params))[0],
    all: rows,
    run: async (sql, params) => (await send(query(sql, params))).rowCount ?? 0,
    begin: async (longerMs) => {
      limitMs = longerMs ?? STATEMENT_LIMIT_MS
      await connection.connect()
      await begin(
        longerMs === undefined ? BEGIN : `${BEGIN}; set local statement_timeout = ${Math.round(longerMs)}`,
      )
      isOpen = true
    },
    commit: async () => {
      const result = await send({ text: 'commit' })
      isOpen = false
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
