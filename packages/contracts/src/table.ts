import { crc32 } from 'node:zlib'
import { storeCorrupt } from './error-catalogue.ts'
import { chunksOf } from './pause.ts'
import type { Reader, SqlParams, SqlValue, Tx } from './store.ts'

/** What a column may be called where code is made of it. */
const COLUMN = /^[a-z_][a-z0-9_]*$/

/**
 * A function that gives the values of these columns, in their order. Compiled, as the binding of the store does for its rows: looking up
 * each column by its name takes a row of thirty more than a microsecond.
 */
function valuesReader(columns: readonly string[]): (row: object) => unknown[] {
  // What the text says is what the type says.
  return compiled(`return [${properties(columns).join()}]`) as (row: object) => unknown[]
}

/**
 * A function that copies these columns of a row, and no other. A property that is deleted would turn the row into a hash
 * table, five times as large and slower to read ever after.
 */
function rowCopier<Row extends object>(columns: readonly (keyof Row & string)[]): (row: Row) => Row {
  const copied = properties(columns).map((property, i) => `${columns[i]}: ${property}`)
  // As above.
  return compiled(`return { ${copied.join()} }`) as (row: Row) => Row
}

function properties(columns: readonly string[]): readonly string[] {
  const strange = columns.find((column) => !COLUMN.test(column))
  if (strange !== undefined) throw new Error(`${JSON.stringify(strange)} is no name of a column`)
  return columns.map((column) => `row.${column}`)
}

function compiled(body: string): unknown {
  return new Function('row', body)
}

const CRC_RANGE = 2 ** 32
/**
 * What one covered column adds to a sum, above its CRC-32. The prime factor is greater than a byte: a flip within one
 * byte of the count gives no other count.
 */
const PER_COLUMN = 1_021 * CRC_RANGE

/**
 * The sum of a row: how many of its table's columns it covers, and the CRC-32 of their values in order. A list of
 * columns only ever grows at its end, so the count says which version's list it was: rows of an older version stay
 * valid when a column is added. Blobs count as their hex. Give the same array each time: what reads its columns is made once.
 */
export function rowSum(columns: readonly string[], row: Readonly<Record<string, unknown>>): number {
  return columns.length * PER_COLUMN + crcOf(columns, columns.length, row)
}

/**
 * Whether the `row_sum` of a raw row is that of its values. `columns` are those of the newest version that is known to
 * have written rows. One that covers more columns than that is of a later version, and cannot be judged: true.
 */
export function hasValidSum(columns: readonly string[], row: Readonly<Record<string, unknown>>): boolean {
  const sum = Number(row.row_sum)
  const covered = Math.floor(sum / PER_COLUMN)
  const crc = sum - covered * PER_COLUMN
  if (!(crc >= 0 && crc < CRC_RANGE)) return false
  if (covered === 0) return isUncounted(columns, row, crc)
  if (covered > columns.length) return true
  return crcOf(columns, covered, row) === crc
}

/** How the values of a list of columns are read. Lists are few, and each is the same array every time. */
const readers = new WeakMap<readonly string[], (row: object) => unknown[]>()

function readerOf(columns: readonly string[]): (row: object) => unknown[] {
  const known = readers.get(columns)
  if (known !== undefined) return known
  const made = valuesReader(columns)
  readers.set(columns, made)
  return made
}

/** How a lone surrogate begins in JSON, and what looks like one. */
const LONE_SURROGATE = '\\ud'

/** Of the first `covered` columns. */
function crcOf(columns: readonly string[], covered: number, row: Readonly<Record<string, unknown>>): number {
  const values = readerOf(columns)(row)
  values.length = covered
  for (let i = 0; i < covered; i++) {
    const value = values[i]
    // Texts are looked at together below.
    if (typeof value === 'object' && value !== null) values[i] = canonical(value)
  }
  const text = JSON.stringify(values)
  return crc32(text.includes(LONE_SURROGATE) ? JSON.stringify(values.map(canonical)) : text)
}

/**
 * Sums from before they counted their columns: the first ones by value, then, by name and unless null, those that had
 * been added since.
 */
function isUncounted(
  columns: readonly string[],
  row: Readonly<Record<string, unknown>>,
  crc: number,
): boolean {
  for (let all = columns.length; all > 0; all--) {
    for (let first = all; first > 0; first--) {
      const values = columns.slice(0, first).map((column) => canonical(row[column]))
      for (const column of columns.slice(first, all)) {
        const value = canonical(row[column])
        if (value !== null) values.push(column, value)
      }
      if (crc32(JSON.stringify(values)) === crc) return true
    }
  }
  return false
}

function canonical(value: unknown): unknown {
  if (value instanceof Uint8Array)
    // A view, no copy: every row that is read comes through here.
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')
  // A store turns a lone surrogate into U+FFFD; the sum is over what comes back.
  if (typeof value === 'string') return value.toWellFormed()
  return value ?? null
}

/** A row as it is stored: its columns and `row_sum` over them. */
type Stored<Row> = Row & { readonly row_sum: number }

/** What the kernel's integrity scan needs to know of a table. */
export interface TableSpec {
  readonly name: string
  /** The columns that its rows' sums cover. A later version adds its own at the end, and takes none away. */
  readonly columns: readonly string[]
  readonly key: readonly string[]
  /** As `columns`, with those of a later version that has written rows here; `columns` when absent. */
  readonly stored?: readonly string[]
  /** Told by the store which columns the newest version has that wrote rows here, so that their sums can be checked. */
  learn?(stored: readonly string[]): void
}

/**
 * One table whose rows carry a checksum, so that a flipped bit on the disk is reported and never served as truth.
 *
 * The table must have all `columns` and `row_sum bigint not null`. Rows are written whole. A CRC-32 finds every
 * single flipped byte; it is no defence against a person (the audit chain is).
 */
export interface Table<Row extends object> extends TableSpec {
  readonly columns: readonly (keyof Row & string)[]
  readonly key: readonly (keyof Row & string)[]
  readonly stored: readonly string[]
  learn(stored: readonly string[]): void
  /** Adds a row; fails when its key exists. */
  insert(tx: Tx, row: Row): Promise<void>
  /** Adds a row unless its key exists; false then. */
  insertNew(tx: Tx, row: Row): Promise<boolean>
  /** Adds a row or replaces the one with the same key. */
  put(tx: Tx, row: Row): Promise<void>
  /**
   * Writes what differs between two rows of the same key, so that the indexes of all else are left alone: `put` rewrites
   * every one of them. `before` is the row as it was read in this transaction. False when it is not there.
   */
  change(tx: Tx, before: Row, after: Row): Promise<boolean>
  /**
   * As `change` of a row that was read before this transaction: only while its column `by` is what it was, else false. Whoever
   * changes such a row must change that column too, so that nothing else of it can be another meanwhile.
   */
  swap(tx: Tx, before: Row, after: Row, by: keyof Row & string): Promise<boolean>
  /** Removes the row with that key; false when there was none. */
  remove(tx: Tx, key: SqlParams): Promise<boolean>
  /** The row with that key, checked. Throws `store_corrupt`. */
  find(reader: Reader, key: SqlParams): Promise<Row | undefined>
  /** Rows by the rest of a statement (`where … order by … limit …`), checked. Throws `store_corrupt`. */
  select(reader: Reader, rest: string, params?: SqlParams): Promise<readonly Row[]>
  /** As `select`, without those that fail their sum; with the key of the last row, sound or not. */
  sound(
    reader: Reader,
    rest: string,
    params?: SqlParams,
  ): Promise<{ readonly rows: readonly Row[]; readonly last: SqlParams | undefined }>
  /** Checks one raw row that has every `stored` column and `row_sum`, and drops the sum. Throws `store_corrupt`. */
  open(raw: Stored<Row>): Row
}

/** The statement that changes some columns: the same text for the same columns, since statements are prepared by their text. */
function changeTexts(name: string, byKey: string): (columns: readonly string[]) => string {
  const texts = new Map<string, string>()
  return (columns) => {
    const which = columns.join()
    const known = texts.get(which)
    if (known !== undefined) return known
    const set = [...columns, 'row_sum'].map((column) => `${column} = :${column}`)
    const made = `update ${name} set ${set.join(', ')} where ${byKey}`
    texts.set(which, made)
    return made
  }
}

/** Declares a table of checksummed rows. `key` are the columns of its primary key. */
export function defineTable<Row extends object>(
  name: string,
  columns: readonly (keyof NoInfer<Row> & string)[],
  key: readonly (keyof NoInfer<Row> & string)[],
): Table<Row> {
  const { insert, insertNew, put, remove, byKey } = changesOf(name, columns, key)
  let stored: readonly string[] = columns
  const selectOf = (): string => `select ${[...stored, 'row_sum'].join(', ')} from ${name}`
  let select = selectOf()
  let find = `${select} where ${byKey}`
  const seal = (row: Row): SqlParams => {
    // The caller's Row type lists exactly the columns; SqlParams is what the driver takes.
    const values = row as Readonly<Record<string, SqlValue>>
    return { ...values, row_sum: rowSum(columns, values) }
  }
  const isSound = (raw: Stored<Row>): boolean =>
    hasValidSum(stored, raw as Readonly<Record<string, SqlValue>>)
  /** The row without the sum, and without what only a later version knows. */
  const valuesOf = rowCopier<Row>(columns)
  const open = (raw: Stored<Row>): Row => {
    if (!isSound(raw)) throw storeCorrupt(name)
    return valuesOf(raw)
  }
  const all = (reader: Reader, rest: string, params?: SqlParams): Promise<readonly Stored<Row>[]> =>
    reader.all<Stored<Row>>(`${select} ${rest}`, params)
  return {
    name,
    columns,
    key,
    open,
    get stored() {
      return stored
    },
    learn: (newest) => {
      stored = newest.length > columns.length ? newest : columns
      select = selectOf()
      find = `${select} where ${byKey}`
    },
    insert: async (tx, row) => {
      await tx.run(insert, seal(row))
    },
    insertNew: async (tx, row) => (await tx.run(insertNew, seal(row))) > 0,
    put: async (tx, row) => {
      await tx.run(put, seal(row))
    },
    ...changing<Row>(columns, key, seal, changeTexts(name, byKey)),
    remove: async (tx, params) => (await tx.run(remove, params)) > 0,
    find: async (reader, params) => {
      const raw = await reader.get<Stored<Row>>(find, params)
      return raw === undefined ? undefined : open(raw)
    },
    select: async (reader, rest, params) => (await all(reader, rest, params)).map(open),
    sound: async (reader, rest, params) => {
      const raws = await all(reader, rest, params)
      const last = raws.at(-1)
      return {
        rows: raws.filter(isSound).map(valuesOf),
        last: last === undefined ? undefined : picked(key, last as Readonly<Record<string, SqlValue>>),
      }
    },
  }
}

/** The two ways to write what differs. */
function changing<Row extends object>(
  columns: readonly string[],
  key: readonly string[],
  seal: (row: Row) => SqlParams,
  textOf: (columns: readonly string[]) => string,
): Pick<Table<Row>, 'change' | 'swap'> {
  const differences = (before: Row, after: Row): { readonly text: string; readonly params: SqlParams } => {
    const sealed = seal(after)
    const different = differing(columns, before as Readonly<Record<string, SqlValue>>, sealed)
    return { text: textOf(different), params: picked([...different, 'row_sum', ...key], sealed) }
  }
  return {
    change: async (tx, before, after) => {
      const { text, params } = differences(before, after)
      return (await tx.run(text, params)) > 0
    },
    swap: async (tx, before, after, by) => {
      const { text, params } = differences(before, after)
      const was = (before as Readonly<Record<string, SqlValue>>)[by] ?? null
      return (await tx.run(`${text} and ${by} = :before_${by}`, { ...params, [`before_${by}`]: was })) > 0
    },
  }
}

/** The statements that do not depend on what later versions have stored. */
function changesOf(
  name: string,
  columns: readonly string[],
  key: readonly string[],
): Readonly<Record<'insert' | 'insertNew' | 'put' | 'remove' | 'byKey', string>> {
  const all = [...columns, 'row_sum']
  const insert = `insert into ${name} (${all.join(', ')}) values (${all.map((column) => `:${column}`).join(', ')})`
  const changed = all
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`)
  const byKey = key.map((column) => `${column} = :${column}`).join(' and ')
  return {
    byKey,
    insert,
    insertNew: `${insert} on conflict (${key.join(', ')}) do nothing`,
    put: `${insert} on conflict (${key.join(', ')}) do update set ${changed.join(', ')}`,
    remove: `delete from ${name} where ${byKey}`,
  }
}

function differing(columns: readonly string[], before: SqlParams, after: SqlParams): readonly string[] {
  return columns.filter((column) => !isSameValue(before[column], after[column]))
}

function picked(columns: readonly string[], from: SqlParams): SqlParams {
  return Object.fromEntries(columns.map((column) => [column, from[column] ?? null]))
}

function isSameValue(one: SqlValue | undefined, other: SqlValue | undefined): boolean {
  if (one instanceof Uint8Array && other instanceof Uint8Array)
    return one === other || (one.length === other.length && one.every((octet, i) => octet === other[i]))
  return one === other
}

/** Lengths that lists have. */
const LIST_LENGTHS = [1, 10, 50, 100, 500] as const

/**
 * A condition that a column is one of some values. Statements are kept by their text: a list has one of few lengths, and
 * repeats its last value.
 */
export function listed(
  column: string,
  values: readonly (string | number)[],
): { readonly where: string; readonly params: SqlParams } {
  const length = LIST_LENGTHS.find((one) => one >= values.length) ?? values.length
  const names = Array.from({ length }, (_, i) => `in_${i}`)
  const last = values.at(-1) ?? null
  return {
    where: `${column} in (${names.map((name) => `:${name}`).join(', ')})`,
    params: Object.fromEntries(names.map((name, i) => [name, values[i] ?? last])),
  }
}

/** Values of one statement. */
const LISTED_AT_ONCE = 500

/** The rows of some values, in no order, however many they are. `sql` has the condition that `column` is one of them. */
export async function allListed<Row extends object>(
  reader: Reader,
  column: string,
  values: readonly string[],
  sql: (where: string) => string,
  more: SqlParams = {},
): Promise<readonly Row[]> {
  const found: Row[] = []
  for (const some of chunksOf(values, LISTED_AT_ONCE)) {
    const { where, params } = listed(column, some)
    found.push(...(await reader.all<Row>(sql(where), { ...params, ...more })))
  }
  return found
}
