import { DatabaseSync } from 'node:sqlite'
import {
  createTurns,
  type Db,
  type Migration,
  type Reader,
  type SqlParams,
  type SqlValue,
  type Tx,
} from '@steeple/contracts'

/** A store handle over SQLite in memory, for tests of a plugin's own tables. */
export interface MemoryDb extends Db {
  /** Runs statements as they are, also those that a plugin must not run. */
  exec(sql: string): void
  close(): void
}

/** A prepared statement that takes its parameters by name. */
interface Statement {
  get(params?: SqlParams): object | undefined
  all(params?: SqlParams): object[]
  run(params?: SqlParams): { readonly changes: number | bigint }
}

/**
 * Opens an empty in-memory database and runs `migrations`.
 *
 * One writer at a time, as in the kernel; reads see committed rows only between transactions. `join` gives the
 * transaction back unrestricted: table names are the kernel's to check.
 */
export function memoryDb(migrations: readonly Migration[] = []): MemoryDb {
  const database = new DatabaseSync(':memory:')
  // The kernel's stores spell it out.
  database.function('json_of', { deterministic: true, varargs: true }, (...values) => JSON.stringify(values))
  database.function('hex_of', { deterministic: true }, (octets) =>
    octets instanceof Uint8Array ? Buffer.from(octets).toString('hex') : null,
  )
  const statements = new Map<string, Statement>()
  for (const { up } of migrations) for (const sql of up) database.exec(sql)
  const statement = (sql: string): Statement => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const { text, names } = byPlace(sql)
    const prepared = database.prepare(text)
    const values = (params: SqlParams): SqlValue[] => names.map((name) => params[name] ?? null)
    const made: Statement = {
      get: (params = {}) => prepared.get(...values(params)),
      all: (params = {}) => prepared.all(...values(params)),
      run: (params = {}) => prepared.run(...values(params)),
    }
    statements.set(sql, made)
    return made
  }
  const inTurn = createTurns()
  const rawReader: Reader = {
    // The caller names the type of its rows.
    get: async <Row>(sql: string, params: SqlParams = {}) =>
      plain(statement(sql).get(params)) as Row | undefined,
    all: async <Row>(sql: string, params: SqlParams = {}) => statement(sql).all(params).map(plain) as Row[],
  }
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    inTurn(async () => {
      const committed: (() => void)[] = []
      const tx: Tx = {
        ...rawReader,
        run: async (sql, params = {}) => Number(statement(sql).run(params).changes),
        afterCommit: (step) => {
          committed.push(step)
        },
      }
      database.exec('begin immediate')
      try {
        const result = await work(tx)
        database.exec('commit')
        for (const step of committed) step()
        return result
      } catch (error) {
        database.exec('rollback')
        throw error
      }
    })
  return {
    dialect: 'sqlite',
    get: (sql, params) => inTurn(() => rawReader.get(sql, params)),
    all: (sql, params) => inTurn(() => rawReader.all(sql, params)),
    write,
    join: (tx) => tx,
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
  }
}

/** The parameters of a statement in the order of their places: SQLite looks for each name among all of them. */
function byPlace(sql: string): { readonly text: string; readonly names: readonly string[] } {
  const names: string[] = []
  const text = sql.replace(/'[^']*'|:([A-Za-z_]\w*)/g, (found, name?: string) => {
    if (name === undefined) return found
    names.push(name)
    return '?'
  })
  return { text, names }
}

function plain(row: object | undefined): object | undefined {
  return row === undefined ? undefined : { ...row }
}
