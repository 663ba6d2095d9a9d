import {
  chunksOf,
  createPause,
  listed,
  type Reader,
  rowSum,
  type SqlParams,
  type SqlValue,
  type Table,
  type Tx,
} from '@steeple/contracts'

/** Rows of one statement: a round trip to the store for each would be most of what a round costs. */
const ROWS = 40
/** Keys that one statement asks for. */
const KEYS = 100

/** Adds rows or replaces those with the same keys, as `table.put` does one by one. No key twice in one call. */
type PutAll<Row> = (tx: Tx, rows: readonly Row[]) => Promise<void>

export function putAllInto<Row extends object>(table: Table<Row>): PutAll<Row> {
  const columns = [...table.columns, 'row_sum']
  const names: string[] = []
  const tuples: string[] = []
  for (let row = 0; row < ROWS; row++) {
    const own = columns.map((_, column) => `p${row * columns.length + column}`)
    names.push(...own)
    tuples.push(`(${own.map((name) => `:${name}`).join(', ')})`)
  }
  const changed = columns.filter((column) => !table.key.some((key) => key === column))
  const sql = `insert into ${table.name} (${columns.join(', ')}) values ${tuples.join(', ')}
    on conflict (${table.key.join(', ')}) do update set ${changed.map((name) => `${name} = excluded.${name}`).join(', ')}`
  return async (tx, rows) => {
    const pause = createPause()
    const whole = rows.length - (rows.length % ROWS)
    // One object for all of them, each filled once the one before is written: to make one of so many names takes longer than to fill it.
    const params: Record<string, SqlValue> = {}
    for (let at = 0; at < whole; at += ROWS) {
      fill(params, table, names, rows.slice(at, at + ROWS))
      await tx.run(sql, params)
      await pause()
    }
    for (const row of rows.slice(whole)) await table.put(tx, row)
  }
}

/** Makes it for a table: removes rows by their keys, as `table.remove` does one by one. */
export function removeAllFrom<Row extends object>(
  table: Table<Row>,
): (tx: Tx, rows: readonly Row[]) => Promise<void> {
  const named = Array.from({ length: ROWS }, (_, row) =>
    table.key.map((column, index) => ({ column, name: `p${row * table.key.length + index}` })),
  )
  const each = named.map(
    (keys) => `(${keys.map(({ column, name }) => `${column} = :${name}`).join(' and ')})`,
  )
  const sql = `delete from ${table.name} where ${each.join(' or ')}`
  return async (tx, rows) => {
    const pause = createPause()
    for (let at = 0; at < rows.length; at += ROWS) {
      const params: Record<string, SqlValue> = {}
      // Always as many, as above: the first one again where there are no more.
      for (const [index, keys] of named.entries()) {
        // The row type lists exactly the columns.
        const values = (rows[at + index] ?? rows[at]) as Readonly<Record<string, SqlValue>>
        for (const { column, name } of keys) params[name] = values[column] ?? null
      }
      await tx.run(sql, params)
      await pause()
    }
  }
}

function fill<Row extends object>(
  params: Record<string, SqlValue>,
  table: Table<Row>,
  names: readonly string[],
  rows: readonly Row[],
): void {
  let at = 0
  for (const row of rows) {
    // The row type lists exactly the columns.
    const values = row as Readonly<Record<string, SqlValue>>
    for (const column of table.columns) params[names[at++] ?? ''] = values[column] ?? null
    params[names[at++] ?? ''] = rowSum(table.columns, values)
  }
}

/**
 * Rows whose `column` is one of `keys`, by `rest` besides (`and …`), checked. Throws `store_corrupt`.
 */
export async function rowsIn<Row extends object>(
  reader: Reader,
  table: Table<Row>,
  column: string,
  keys: readonly (string | number)[],
  rest = '',
  params: SqlParams = {},
): Promise<readonly Row[]> {
  const found: Row[] = []
  const pause = createPause()
  for (const some of chunksOf(keys, KEYS)) {
    const { where, params: named } = listed(column, some)
    found.push(...(await table.select(reader, `where ${where} ${rest}`, { ...named, ...params })))
    await pause()
  }
  return found
}
