import type { Reader, SqlParams } from '@steeple/contracts'
import type { Pool } from 'pg'
import type { Backend } from './backend.ts'
import { copyPostgres } from './postgres-copy.ts'
import { numbersOf, postgresSettings } from './postgres-settings.ts'
import { postgresSide } from './postgres-side.ts'
import { type QueryMaker, queryMaker } from './postgres-statements.ts'
import { postgresWriter } from './postgres-writer.ts'
import { postgresError } from './store-error.ts'

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
