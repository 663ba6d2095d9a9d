import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@steeple/store'
import { SQL_NAME } from './reseal-table.ts'
import { type KernelVault, sealedHead } from './vault.ts'

/** What may hold sealed values: every column of octets. */
const COLUMNS = {
  sqlite: `select tables.name as table_name, columns.name as column_name
    from sqlite_schema as tables join pragma_table_info(tables.name) as columns
    where tables.type = 'table' and lower(columns.type) in ('bytea', 'blob') order by 1, 2`,
  postgres: `select table_name, column_name from information_schema.columns
    where table_schema = current_schema() and data_type = 'bytea' order by 1, 2`,
} as const

interface Column {
  readonly table_name: string
  readonly column_name: string
}

/** Rows of one look at a store whose reads hold up the process. */
const BATCH_ROWS = 2_000

/**
 * Where values lie under replaced keys, in tables that nobody has registered as well, one line each: the list beside the keys may be
 * lost, or of a process that did not come far. Throws the signal's reason, `store_unavailable`.
 */
export async function leftBehind(
  db: Database,
  vault: KernelVault,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const { table_name: table, column_name: column } of await db.all<Column>(COLUMNS[db.dialect])) {
    if (![table, column].every((name) => SQL_NAME.test(name))) continue
    for (const { id } of vault.keyring.replaced)
      if (await holds(db, { table, column, head: sealedHead(id) }, signal))
        found.push(
          `${table}.${column} has values under the key ${id}, and sealed-tables.json beside the keys does not name them; ` +
            'start the service once with all of its plugins, then rotate again',
        )
  }
  return found
}

/** Whether a value of the column begins so. */
async function holds(
  db: Database,
  { table, column, head }: { readonly table: string; readonly column: string; readonly head: Buffer },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const begins = `substr(${column}, 1, ${head.length}) = :head`
  if (db.dialect === 'postgres')
    return (await db.get(`select 1 as there from ${table} where ${begins} limit 1`, { head })) !== undefined
  const sql = `select max(row_at) as last, max(${begins}) as there
    from (select rowid as row_at, ${column} from ${table} where rowid > :after order by rowid limit ${BATCH_ROWS})`
  let after: number | null = -1
  while (after !== null) {
    await nextTurn()
    signal?.throwIfAborted()
    const batch: Batch | undefined = await db.get<Batch>(sql, { head, after })
    if (batch?.there === 1) return true
    after = batch?.last ?? null
  }
  return false
}

interface Batch {
  readonly last: number | null
  readonly there: number | null
}
