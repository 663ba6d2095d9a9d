import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { createTurns, type Db, type Reader, type SqlParams, type Tx } from '@steeple/contracts'
import { MIGRATIONS } from '../../src/migrations.ts'

/** The tables of the plugin in a file, for a process that is killed: every commit is on the disk before it is answered. */
export function fileDb(path: string): Db & { close(): void } {
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  if (database.prepare("select name from sqlite_master where name = 'esim_smdp_code'").get() === undefined) {
    database.exec('begin immediate')
    for (const { up } of MIGRATIONS) for (const sql of up) database.exec(sql)
    database.exec('commit')
  }
  const statements = new Map<string, StatementSync>()
  const statement = (sql: string): StatementSync => {
    const known = statements.get(sql) ?? database.prepare(sql)
    known.setAllowUnknownNamedParameters(true)
    statements.set(sql, known)
    return known
  }
  const inTurn = createTurns()
  const reader: Reader = {
    // The caller names the type of its rows.
    get: async <Row>(sql: string, params: SqlParams = {}) => {
      const row = statement(sql).get(params)
      return (row === undefined ? undefined : { ...row }) as Row | undefined
    },
    all: async <Row>(sql: string, params: SqlParams = {}) =>
      statement(sql)
        .all(params)
        .map((row) => ({ ...row })) as Row[],
  }
  const write = async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    database.exec('begin immediate')
    try {
      const run = async (sql: string, params: SqlParams = {}) => Number(statement(sql).run(params).changes)
      const result = await work({ ...reader, run, afterCommit: () => {} })
      database.exec('commit')
      return result
    } catch (error) {
      database.exec('rollback')
      throw error
    }
  }
  return {
    dialect: 'sqlite',
    get: (sql, params) => inTurn(() => reader.get(sql, params)),
    all: (sql, params) => inTurn(() => reader.all(sql, params)),
    write: (work) => inTurn(() => write(work)),
    join: (tx) => tx,
    close: () => database.close(),
  }
}
