import type { Principal } from './roles.ts'
import type { Table } from './table.ts'

/**
 * A migration's work on rows: one batch in one transaction, of the rows that still need it with a key behind `after`.
 * Gives the key of the last one; undefined when there was none. Made by `rowStep`.
 */
export type RowStep = (tx: Tx, after: SqlParams | undefined) => Promise<SqlParams | undefined>

/** Rows of one batch: short enough not to hold up other writers. */
const BATCH_ROWS = 200

/**
 * Declares a step over rows. `where` is the SQL condition of those that still need it; it must not hold any more for a
 * row that `change` has dealt with (by `table.put`). So a step that was cut off goes on where it was, and rows that an
 * older version wrote meanwhile, or after a roll-back, are found at the next load. Rows that fail their sum are left.
 */
export function rowStep<Row extends object>(
  table: Table<Row>,
  where: string,
  change: (tx: Tx, rows: readonly Row[]) => Promise<void>,
): RowStep {
  const key = table.key.join(', ')
  const behind = `(${key}) > (${table.key.map((column) => `:${column}`).join(', ')})`
  const order = `order by ${key} limit ${BATCH_ROWS}`
  return async (tx, after) => {
    const rest = after === undefined ? `where (${where})` : `where (${where}) and ${behind}`
    const { rows, last } = await table.sound(tx, `${rest} ${order}`, after)
    if (rows.length > 0) await change(tx, rows)
    return last
  }
}

/** A value that both SQL dialects store and return alike. Booleans are integers 0 and 1, times ms since the epoch. */
export type SqlValue = string | number | null | Uint8Array

/** Named parameters of a statement: `:name` in its text. */
export type SqlParams = Readonly<Record<string, SqlValue>>

/**
 * Reads of committed rows.
 *
 * Statements are SQL texts that both SQLite and PostgreSQL understand, with `:name` parameters. A text is compiled
 * and prepared once and cached by its text, so keep texts constant. Inside a plugin only tables named
 * `<plugin_id>_*` may be named (dashes as underscores).
 *
 * Errors: `store_unavailable` when the store does not answer.
 */
export interface Reader {
  /** The first row, or undefined. */
  get<Row>(sql: string, params?: SqlParams): Promise<Row | undefined>
  /** All rows. Bound them with a limit. */
  all<Row>(sql: string, params?: SqlParams): Promise<readonly Row[]>
}

/** A transaction. Await nothing but its own calls inside it: other writers wait. */
export interface Tx extends Reader {
  /** Runs a statement that changes rows and says how many. */
  run(sql: string, params?: SqlParams): Promise<number>
  /** Runs after the commit is durable; not at all when the transaction fails. Must not throw. */
  afterCommit(step: () => void): void
}

/** What a mutation may add to its own audit entry and events. */
export interface MutationTx extends Tx {
  /**
   * Sets the target (when it was not known before) and adds facts to the audit entry, also to that of a failure. No secrets,
   * no raw IMSI.
   * `principal`: who it was after all, when the request itself has found that out (a login). A failure stays anonymous.
   */
  audit(entry: {
    readonly target?: string
    readonly detail?: Readonly<Record<string, unknown>>
    readonly principal?: Principal
  }): void
  /** Replaces the event that the mutation emits by default (`type` = action, `subject` = target, no data). */
  event(event: {
    readonly type: string
    readonly subject: string
    readonly data?: Readonly<Record<string, unknown>>
  }): void
  /** Adds an event beside the mutation's own: what it did to things of another noun, for those who listen for these. */
  tell(event: {
    readonly type: string
    readonly subject: string
    readonly data?: Readonly<Record<string, unknown>>
  }): void
  /** After the commit the reconciler looks at this key soon; an urgent one comes before all that are not. */
  dirty(resource: string, key: string, isUrgent?: boolean): void
}

/** A transaction of observed state that can tell of it. */
export interface ObservedTx extends Tx {
  /** Adds an event to the outbox, in this transaction; several may be added. No raw IMSI. */
  event(event: {
    readonly type: string
    readonly subject: string
    readonly data?: Readonly<Record<string, unknown>>
  }): void
}

/** The handle of a plugin on its own tables. */
export interface Db extends Reader {
  readonly dialect: 'sqlite' | 'postgres'
  /** Writes *observed* state (heartbeats, last use): durable, not audited. Desired state goes through `mutate`. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** The same transaction, limited to this plugin's tables: for a service called inside another plugin's mutation. */
  join<T extends Tx>(tx: T): T
}

/**
 * A step of a plugin's schema and rows: DDL statements that both dialects understand, run in one transaction, once.
 *
 * Additive within a major: `create table`, `create index`, `create unique index`, `alter table … add column` on
 * tables `<plugin_id>_*`; an added column is nullable or has a default, as older code writes rows without it. `drop index` too: it takes time from older code and nothing else. Column types: `text`, `integer` (32 bit), `bigint`, `double precision`, `bytea`.
 */
export interface Migration {
  /** `0001_noun`; ids are run in order and never edited after a release. */
  readonly id: string
  readonly up: readonly string[]
  /**
   * Work on the rows there are, in batches, behind the `up` of every migration. Ends before the plugin's setup; cut off,
   * it goes on at the next load. An older version may write rows while it runs and after a roll-back.
   */
  readonly rows?: RowStep
}
