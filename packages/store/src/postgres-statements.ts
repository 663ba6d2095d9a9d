import type { SqlParams, SqlValue } from '@steeple/contracts'
import { sqlCompiler, valuesOf } from './compiler.ts'
import { StatementCache } from './statement-cache.ts'

/** A statement as the client takes it: the server prepares it once per connection under its name. */
export interface NamedQuery {
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
