import { crc32 } from 'node:zlib'
import { storeCorrupt } from './error-catalogue.ts'
import type { Reader, SqlParams, SqlValue, Tx } from './store.ts'

/** A row as it is stored: its columns and `row_sum`, the CRC-32 over them. */
type Stored<Row> = Row & { readonly row_sum: number }

/**
 * One table whose rows carry a checksum, so that a flipped bit on the disk is reported and never served as truth.
 *
 * The table must have all `columns` and `row_sum bigint not null`. Rows are written whole. A CRC-32 finds every
 * single flipped byte; it is no defence against a person (the audit chain is).
 */
export interface Table<Row extends object> {
  readonly name: string
  readonly columns: readonly (keyof Row & string)[]
  readonly key: readonly (keyof Row & string)[]
  /** Adds a row; fails when its key exists. */
  insert(tx: Tx, row: Row): Promise<void>
  /** Adds a row or replaces the one with the same key. */
  put(tx: Tx, row: Row): Promise<void>
  /** Removes the row with that key; false when there was none. */
  remove(tx: Tx, key: SqlParams): Promise<boolean>
  /** The row with that key, checked. Throws `store_corrupt`. */
  find(reader: Reader, key: SqlParams): Promise<Row | undefined>
  /** Rows by the rest of a statement (`where … order by … limit …`), checked. Throws `store_corrupt`. */
  select(reader: Reader, rest: string, params?: SqlParams): Promise<readonly Row[]>
  /** Checks one raw row that has every column and `row_sum`, and drops the sum. Throws `store_corrupt`. */
  open(raw: Stored<Row>): Row
}

/** What the kernel's integrity scan needs to know of a table. */
export interface TableSpec {
  readonly name: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
}

/** The CRC-32 of a row's values in column order. Blobs count as their hex. */
export function rowSum(columns: readonly string[], row: Readonly<Record<string, unknown>>): number {
  const values: unknown[] = []
  for (const column of columns) values.push(canonical(row[column]))
  return crc32(JSON.stringify(values))
}

function canonical(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  // A store turns a lone surrogate into U+FFFD; the sum is over what comes back.
  if (typeof value === 'string') return value.toWellFormed()
  return value ?? null
}

/** Declares a table of checksummed rows. `key` are the columns of its primary key. */
export function defineTable<Row extends object>(
  name: string,
  columns: readonly (keyof Row & string)[],
  key: readonly (keyof Row & string)[],
): Table<Row> {
  const all = [...columns, 'row_sum']
  const insert = `insert into ${name} (${all.join(', ')}) values (${all.map((column) => `:${column}`).join(', ')})`
  const changed = all.filter((column) => !key.some((part) => part === column))
  const put = `${insert} on conflict (${key.join(', ')}) do update set ${changed.map((column) => `${column} = excluded.${column}`).join(', ')}`
  const byKey = key.map((column) => `${column} = :${column}`).join(' and ')
  const select = `select ${all.join(', ')} from ${name}`
  const find = `${select} where ${byKey}`
  const remove = `delete from ${name} where ${byKey}`
  const seal = (row: Row): SqlParams => {
    // The caller's Row type lists exactly the columns; SqlParams is what the driver takes.
    const values = row as Readonly<Record<string, SqlValue>>
    return { ...values, row_sum: rowSum(columns, values) }
  }
  const open = (raw: Stored<Row>): Row => {
    // A raw row has the selected columns: `columns` and the sum.
    const stored = raw as Readonly<Record<string, SqlValue>>
    if (rowSum(columns, stored) !== stored.row_sum) throw storeCorrupt(name)
    const values: Record<string, SqlValue> = {}
    for (const column of columns) values[column] = stored[column] ?? null
    // The row again, without the sum.
    return values as Row
  }
  return {
    name,
    columns,
    key,
    open,
    insert: async (tx, row) => {
      await tx.run(insert, seal(row))
    },
    put: async (tx, row) => {
      await tx.run(put, seal(row))
    },
    remove: async (tx, params) => (await tx.run(remove, params)) > 0,
    find: async (reader, params) => {
      const raw = await reader.get<Stored<Row>>(find, params)
      return raw === undefined ? undefined : open(raw)
    },
    select: async (reader, rest, params) =>
      (await reader.all<Stored<Row>>(`${select} ${rest}`, params)).map(open),
  }
}
