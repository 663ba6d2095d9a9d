import { crc32 } from 'node:zlib'

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
export function rowCopier<Row extends object>(columns: readonly (keyof Row & string)[]): (row: Row) => Row {
  const copied = properties(columns).map((property, i) => `${columns[i]}: ${property}`)
  // As above.
  return compiled(`return { ${copied.join()} }`) as (row: Row) => Row
}

/** A function that makes a row of these columns from the values of `all` columns, in their order. */
export function rowMaker<Row extends object>(
  columns: readonly (keyof Row & string)[],
  all: readonly string[],
): (values: readonly unknown[]) => Row {
  properties(columns)
  const made = columns.map((column) => `${column}: row[${all.indexOf(column)}]`)
  // As above.
  return compiled(`return { ${made.join()} }`) as (values: readonly unknown[]) => Row
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

/** Whether `text`, the JSON of the values of all of so many columns, is what a sum is over. */
export function isSumOfText(columns: number, text: string, sum: number): boolean {
  return sum - columns * PER_COLUMN === crc32(text)
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
