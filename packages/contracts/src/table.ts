import { storeCorrupt } from './error-catalogue.ts'
import { hasValidSum, rowCopier, rowSum } from './row-sum.ts'
import type { Reader, SqlParams, SqlValue, Tx } from './store.ts'

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
  columns: readonly (keyof Row & string)[],
  key: readonly (keyof Row & string)[],
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
