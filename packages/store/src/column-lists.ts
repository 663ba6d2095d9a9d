import { storeInvalid, type TableSpec } from '@steeple/contracts'
import type { WriterTx } from './database.ts'

const TABLE =
  'create table if not exists kernel_columns (name text not null primary key, columns text not null)'
const FIND = 'select columns from kernel_columns where name = :name'
const PUT = `insert into kernel_columns (name, columns) values (:name, :columns)
  on conflict (name) do update set columns = excluded.columns`

/**
 * Keeps the longest list of columns that any version has had for a table, and tells it to the tables of this one: so a
 * version that was rolled back to can check the sums of rows that the later one has written.
 *
 * Throws `store_invalid` when neither list begins with the other: then no sum of before would hold.
 */
export async function learnColumns(tx: WriterTx, owner: string, tables: readonly TableSpec[]): Promise<void> {
  if (tables.length === 0) return
  await tx.run(TABLE)
  for (const spec of tables) {
    const { name, columns } = spec
    const row = await tx.get<{ columns: string }>(FIND, { name })
    // Written below.
    const known = row === undefined ? [] : (JSON.parse(row.columns) as readonly string[])
    const shorter = Math.min(known.length, columns.length)
    if (known.slice(0, shorter).join() !== columns.slice(0, shorter).join())
      throw storeInvalid(
        `${owner} lists the columns of ${name} as ${columns.join(', ')}; rows are stored with ${known.join(', ')}; keep that order, and add behind it`,
      )
    if (columns.length > known.length) await tx.run(PUT, { name, columns: JSON.stringify(columns) })
    spec.learn?.(known)
  }
}
