import type { SqlParams, Tx } from './store.ts'
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
