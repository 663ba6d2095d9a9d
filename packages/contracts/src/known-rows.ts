import { storeCorrupt } from './error-catalogue.ts'
import type { Reader, SqlParams, SqlValue } from './store.ts'
import type { Table } from './table.ts'
import { hasValidSum, isSumOfText, rowCopier, rowMaker } from './table.ts'

/** A row as it was read. While nothing of it changes it is the same object, with what its reader has made of it. */
export interface KnownRow<Row extends object, Made> {
  readonly row: Row
  /** For the reader to set. Kept no longer than the row stays as it is. */
  made: Made | undefined
}

/** Rows that are read again and again, by all that they say. */
interface RowMemory<Row extends object, Made> {
  /** The row of exactly this text and sum, which were found to belong together. */
  recall(sum: number, text: string): KnownRow<Row, Made> | undefined
  /** A row whose sum was checked; from the second time on it is remembered. */
  keep(sum: number, text: string, row: Row): KnownRow<Row, Made>
}

interface Kept<Row extends object, Made> extends KnownRow<Row, Made> {
  readonly text: string
}

/** Rows that are remembered: some pages of a list. With what is made of it a row takes 1 to 3 KB. */
const MOST_ROWS = 1_024
/** A longer text is not remembered. */
const LONGEST_TEXT = 4_096
/** Sums that are known to have been met once: who walks through a large table meets each once, and fills nothing. */
const MOST_MET = 2_048

/** Remembers nothing yet. What was not asked for longest goes first, half of it at a time. */
export function createRowMemory<Row extends object, Made>(): RowMemory<Row, Made> {
  type Half = Map<number, Kept<Row, Made>>
  let recent: Half = new Map()
  let older: Half = new Map()
  const met = new Float64Array(MOST_MET).fill(Number.NaN)
  const put = (sum: number, kept: Kept<Row, Made>): void => {
    if (recent.size >= MOST_ROWS / 2) {
      older = recent
      recent = new Map()
    }
    recent.set(sum, kept)
  }
  return {
    recall: (sum, text) => {
      const known = recent.get(sum)
      if (known !== undefined) return known.text === text ? known : undefined
      const old = older.get(sum)
      if (old?.text !== text) return undefined
      put(sum, old)
      return old
    },
    keep: (sum, text, row) => {
      const slot = Math.abs(sum) % MOST_MET
      if (met[slot] !== sum || text.length > LONGEST_TEXT) {
        met[slot] = sum
        return { row, made: undefined }
      }
      const kept: Kept<Row, Made> = { row, made: undefined, text }
      put(sum, kept)
      return kept
    },
  }
}

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
