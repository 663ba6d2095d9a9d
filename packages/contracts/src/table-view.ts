import { storeCorrupt } from './error-catalogue.ts'
import { rowCopier } from './row-code.ts'
import { hasValidSum } from './row-sum.ts'
import type { Reader, SqlParams, SqlValue } from './store.ts'
import type { Table } from './table.ts'

/** Rows of a table without some of their columns, for reading alone. */
export interface TableView<Row extends object> {
  /** The row with that key, checked. Throws `store_corrupt`. */
  find(reader: Reader, key: SqlParams): Promise<Row | undefined>
  /** Rows by the rest of a statement (`where … order by … limit …`), checked. Throws `store_corrupt`. */
  select(reader: Reader, rest: string, params?: SqlParams): Promise<readonly Row[]>
}

/**
 * The rows of a table without these columns of octets, checked by their whole sum all the same. For what shows many rows and
 * opens nothing sealed: octets cost a row more than all its other columns, so they come as hexadecimal text, which is what
 * the sum is over.
 */
export function withoutOctets<Row extends object, Octets extends keyof Row & string>(
  table: Table<Row>,
  octets: readonly Octets[],
): TableView<Omit<Row, Octets>> {
  type Shown = Omit<Row, Octets>
  const left: ReadonlySet<string> = new Set(octets)
  const shown = table.columns.filter((column) => !left.has(column)) as (keyof Shown & string)[] // not one of `octets`
  const copy = rowCopier<Shown>(shown)
  const byKey = table.key.map((column) => `${column} = :${column}`).join(' and ')
  const read = (column: string): string => (left.has(column) ? `hex_of(${column}) as ${column}` : column)
  let made: { readonly of: readonly string[]; readonly text: string } | undefined
  const select = (): string => {
    if (made?.of !== table.stored)
      made = {
        of: table.stored,
        text: `select ${[...table.stored.map(read), 'row_sum'].join(', ')} from ${table.name}`,
      }
    return made.text
  }
  const open = (raw: Shown): Shown => {
    if (!hasValidSum(table.stored, raw as Readonly<Record<string, SqlValue>>)) throw storeCorrupt(table.name)
    return copy(raw)
  }
  return {
    find: async (reader, key) => {
      const raw = await reader.get<Shown>(`${select()} where ${byKey}`, key)
      return raw === undefined ? undefined : open(raw)
    },
    select: async (reader, rest, params) =>
      (await reader.all<Shown>(`${select()} ${rest}`, params)).map(open),
  }
}
