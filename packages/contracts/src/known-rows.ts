import { storeCorrupt } from './error-catalogue.ts'
import { rowMaker } from './row-code.ts'
import { createRowMemory, type KnownRow } from './row-memory.ts'
import { hasValidSum, isSumOfText } from './row-sum.ts'
import type { Reader, SqlParams } from './store.ts'
import type { Table } from './table.ts'
import { withoutOctets } from './table-view.ts'

/** Rows of a table without their columns of octets, for what reads the same ones often. */
export interface KnownRows<Row extends object, Made> {
  /** The row with that key, checked. Throws `store_corrupt`. */
  find(reader: Reader, key: SqlParams): Promise<KnownRow<Row, Made> | undefined>
  /** Rows by the rest of a statement (`where … order by … limit …`), checked. Throws `store_corrupt`. */
  select(reader: Reader, rest: string, params?: SqlParams): Promise<readonly KnownRow<Row, Made>[]>
}

/** A row as one text, which is what its sum is over. */
interface RowText {
  readonly row_text: string
  readonly row_sum: number
}

/**
 * The rows of a table without `octets`, which must be all of its columns that hold octets. Each comes as one text of all that it says, which
 * takes the store half as long as thirty values. One that says the same as before, sum included, is the row that was checked
 * then; any other is checked as a whole. So nothing is ever served that is not what the store holds now.
 *
 * It remembers some hundred rows: make one for each load of a plugin, not for its module.
 */
export function knownRows<Row extends object, Octets extends keyof Row & string, Made>(
  table: Table<Row>,
  octets: readonly Octets[],
): KnownRows<Omit<Row, Octets>, Made> {
  type Shown = Omit<Row, Octets>
  const left: ReadonlySet<string> = new Set(octets)
  const plain = withoutOctets(table, octets)
  const memory = createRowMemory<Shown, Made>()
  const all = rowMaker<Row>(table.columns, table.columns)
  const shown = table.columns.filter((column) => !left.has(column)) as (keyof Shown & string)[] // not one of `octets`
  const shownOf = rowMaker<Shown>(shown, table.columns)
  const items = table.columns.map((column) => (left.has(column) ? `hex_of(${column})` : column))
  const select = `select cast(json_of(${items.join(', ')}) as text) as row_text, row_sum from ${table.name}`
  const byKey = `where ${table.key.map((column) => `${column} = :${column}`).join(' and ')}`
  const open = ({ row_text: text, row_sum }: RowText): KnownRow<Shown, Made> => {
    const sum = Number(row_sum)
    const known = memory.recall(sum, text)
    if (known !== undefined) return known
    const values = JSON.parse(text) as readonly unknown[] // `json_of` makes an array
    if (!isSumOfText(table.columns.length, text, sum) && !hasOldSum(values, sum))
      throw storeCorrupt(table.name)
    return memory.keep(sum, text, shownOf(values))
  }
  /** Of a row that an older version wrote, or where the store writes JSON another way. */
  const hasOldSum = (values: readonly unknown[], sum: number): boolean =>
    hasValidSum(table.columns, { ...all(values), row_sum: sum })
  /** Undefined when it has to be read column by column: a later version has columns that may hold octets, or a value is none of JSON. */
  const texts = async (
    reader: Reader,
    rest: string,
    params: SqlParams | undefined,
  ): Promise<readonly RowText[] | undefined> => {
    if (table.stored !== table.columns) return undefined
    try {
      return await reader.all<RowText>(`${select} ${rest}`, params)
    } catch {
      // Octets in a column of text are damage, which the other way finds; what else is wrong is wrong there too.
      return undefined
    }
  }
  const read: KnownRows<Shown, Made>['select'] = async (reader, rest, params) => {
    const found = await texts(reader, rest, params)
    if (found !== undefined) return found.map(open)
    return (await plain.select(reader, rest, params)).map((row) => ({ row, made: undefined }))
  }
  return { select: read, find: async (reader, key) => (await read(reader, byKey, key))[0] }
}
