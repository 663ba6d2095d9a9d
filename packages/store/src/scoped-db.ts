import type { Db, Reader, SqlParams, Tx } from '@steeple/contracts'
import type { Database, WriterTx } from './database.ts'
import { checkScope } from './scope.ts'

/** Texts remembered as allowed; a plugin has some dozens. */
const MOST_TEXTS = 1_000

/** Checks each text once: gives it back when its tables are the owner's, throws otherwise. */
export type SqlGuard = (sql: string) => string

/** The guard of an owner. */
export function sqlGuard(owner: string): SqlGuard {
  const allowed = new Set<string>()
  return (sql) => {
    if (allowed.has(sql)) return sql
    checkScope(owner, sql)
    if (allowed.size >= MOST_TEXTS) allowed.clear()
    allowed.add(sql)
    return sql
  }
}

/** What the store gives for an allowed text, as it gives it: each promise around a promise costs a statement three more ticks. */
function guarded<T>(guard: SqlGuard, sql: string, ask: (sql: string) => Promise<T>): Promise<T> {
  try {
    return ask(guard(sql))
  } catch (error) {
    return Promise.reject(error)
  }
}

const WHOLE: unique symbol = Symbol('the transaction without limits')

interface LimitedTx extends Tx {
  readonly [WHOLE]: Tx
}

/** The transaction limited to the tables that `guard` allows. One that is limited already is limited anew. */
export function limitedTx(tx: Tx, guard: SqlGuard): Tx {
  const whole = WHOLE in tx ? (tx as LimitedTx)[WHOLE] : tx
  const limited: LimitedTx = {
    [WHOLE]: whole,
    get: (sql, params) => guarded(guard, sql, (allowed) => whole.get(allowed, params)),
    all: (sql, params) => guarded(guard, sql, (allowed) => whole.all(allowed, params)),
    run: (sql, params) => guarded(guard, sql, (allowed) => whole.run(allowed, params)),
    afterCommit: (step) => whole.afterCommit(step),
  }
  return limited
}

/** The handle of `owner` on its own tables (see `Db`). */
export function scopedDb(
  owner: string,
  reader: Reader,
  database: Pick<Database, 'dialect'> & { transact<T>(job: (tx: WriterTx) => Promise<T>): Promise<T> },
): Db {
  const guard = sqlGuard(owner)
  return {
    dialect: database.dialect,
    get: <Row>(sql: string, params?: SqlParams) =>
      guarded(guard, sql, (allowed) => reader.get<Row>(allowed, params)),
    all: <Row>(sql: string, params?: SqlParams) =>
      guarded(guard, sql, (allowed) => reader.all<Row>(allowed, params)),
    write: (work) => database.transact((tx) => work(limitedTx(tx, guard))),
    // What a mutation may say besides stays as it is.
    join: (tx) => ({ ...tx, ...limitedTx(tx, guard) }),
  }
}
