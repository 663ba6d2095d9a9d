import type { Reader, SqlParams } from '@steeple/contracts'
import type { Client, Pool, QueryResult } from 'pg'
import type { Backend, SideConnection } from './database.ts'
import { copyPostgres } from './postgres-copy.ts'
import { numbersOf, postgresSettings } from './postgres-settings.ts'
import { postgresWriter, type QueryMaker, queryMaker } from './postgres-writer.ts'
import { isConnectionError, postgresError } from './store-error.ts'

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
