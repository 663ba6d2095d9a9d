import knex from 'knex'
import { sqlTokens } from './sql-tokens.ts'

/** Statements kept by a connection. Texts are constant, so a service has a few hundred. */
const MOST_STATEMENTS = 1_000

/** Prepared statements by their text; the oldest leaves when there are too many. */
export class StatementCache<Prepared> {
  readonly #prepared = new Map<string, Prepared>()
  readonly #prepare: (sql: string) => Prepared

  constructor(prepare: (sql: string) => Prepared) {
    this.#prepare = prepare
  }

  /** The prepared statement of a text. Throws what preparing throws; then nothing is kept. */
  get(sql: string): Prepared {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    const fresh = this.#prepare(sql)
    this.#prepared.set(sql, fresh)
    if (this.#prepared.size > MOST_STATEMENTS) {
      const [oldest] = this.#prepared.keys()
      if (oldest !== undefined) this.#prepared.delete(oldest)
    }
    return fresh
  }
}

/** A SQL text in the dialect's own placeholders, and the names of the values in their order. */
interface CompiledSql {
  readonly text: string
  readonly names: readonly string[]
}

/** Turns `:name` SQL into the dialect's text. Meant to be called once for each text. */
export type SqlCompiler = (sql: string) => CompiledSql

/** A string in the text that looks like a parameter or a placeholder would be replaced by the compiler. */
const MISLEADING = /[?]|:\w/

/**
 * A compiler that uses knex as builder only: no pool, no connection, no query through it.
 *
 * Throws for texts that the dialects read differently (see `sqlTokens`).
 */
export function sqlCompiler(dialect: 'sqlite' | 'postgres'): SqlCompiler {
  const builder =
    dialect === 'sqlite' ? knex({ client: 'better-sqlite3', useNullAsDefault: true }) : knex({ client: 'pg' })
  return (sql) => {
    const tokens = sqlTokens(sql)
    const misleading = tokens.find((token) => token.kind === 'string' && MISLEADING.test(token.text))
    if (misleading !== undefined) throw new Error(`pass '${misleading.text}' as a parameter: ${sql}`)
    const names = tokens.filter((token) => token.kind === 'param').map((token) => token.text)
    // Each value is its own name, so the bindings that come out are the names in placeholder order.
    const native = builder
      .raw(sql, Object.fromEntries(names.map((name) => [name, name])))
      .toSQL()
      .toNative()
    return { text: native.sql, names: native.bindings.map(String) }
  }
}

/** The values of a statement in placeholder order. Throws when one is missing. */
export function valuesOf<Value>(names: readonly string[], params: Readonly<Record<string, Value>>): Value[] {
  const values = new Array<Value>(names.length)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? ''
    const value = params[name]
    if (value === undefined) throw new Error(`no value for the SQL parameter :${name}`)
    values[index] = value
  }
  return values
}
