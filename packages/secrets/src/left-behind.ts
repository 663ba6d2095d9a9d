import type { Database } from '@steeple/store'
import { type KernelVault, sealedHeads } from './vault.ts'

/** What may hold sealed values: every column of octets. */
const COLUMNS = {
  sqlite: `select tables.name as table_name, columns.name as column_name
    from sqlite_schema as tables join pragma_table_info(tables.name) as columns
    where tables.type = 'table' and lower(columns.type) in ('bytea', 'blob') order by 1, 2`,
  postgres: `select table_name, column_name from information_schema.columns
    where table_schema = current_schema() and data_type = 'bytea' order by 1, 2`,
} as const
const SQL_NAME = /^[a-z][a-z0-9_]*$/

interface Column {
  readonly table_name: string
  readonly column_name: string
}

/**
 * Where values lie under replaced keys, in tables that nobody has registered as well, one line each: the list beside the keys may be
 * lost, or of a process that did not come far. It goes through whole tables at once: for a node that no process serves.
 */
export async function leftBehind(db: Database, vault: KernelVault): Promise<readonly string[]> {
  const heads = sealedHeads(vault.keyring.replaced.map(({ id }) => id))
  const columns = await db.all<Column>(COLUMNS[db.dialect])
  const found: string[] = []
  for (const { table_name: table, column_name: column } of columns) {
    if (![table, column].every((name) => SQL_NAME.test(name))) continue
    for (const { id, octets } of heads) {
      const sql = `select 1 as there from ${table} where substr(${column}, 1, ${octets.length}) = :head limit 1`
      if ((await db.get(sql, { head: octets })) !== undefined)
        found.push(
          `${table}.${column} has values under the key ${id}, and sealed-tables.json beside the keys does not name them; ` +
            'start the service once with all of its plugins, then rotate again',
        )
    }
  }
  return found
}
