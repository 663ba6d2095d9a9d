import type { Page, Reader, SqlParams, Table } from '@steeple/contracts'

/** Which rows, and by which columns they are listed. */
interface Listing {
  readonly at?: string
  readonly id?: string
  /** Conditions, with their parameters. */
  readonly where?: readonly string[]
  readonly params?: SqlParams
}

/** The rows of a page, newest first, and one more where there are more. */
export function newestFirst<Row extends object>(
  table: Table<Row>,
  reader: Reader,
  { limit, after }: Pick<Page, 'limit' | 'after'>,
  { at = 'created_at_ms', id = 'id', where = [], params = {} }: Listing = {},
): Promise<readonly Row[]> {
  const conditions = after === undefined ? where : [...where, `(${at}, ${id}) < (:after_ms, :after_id)`]
  const those = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  return table.select(reader, `${those} order by ${at} desc, ${id} desc limit :limit`, {
    ...params,
    limit: limit + 1,
    ...(after === undefined ? {} : { after_ms: Number(after[0]), after_id: String(after[1]) }),
  })
}
