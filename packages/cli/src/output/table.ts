import type { CommandColumn } from '@steeple/contracts'
import { octets } from './octets.ts'

/** A field of a row, one inside another, or a text with several in braces. */
type Field<Row> =
  | (keyof Row & string)
  | `${keyof Row & string}.${string}`
  | `${string}{${string}`
  | ((row: Row) => unknown)

/** One column of a table. Here its value may be worked out too. */
export type Column<Row> =
  | (keyof Row & string)
  | (Omit<CommandColumn, 'value'> & { readonly value: Field<Row> })

/** A column of which nothing is left open. */
interface Shown<Row> extends Pick<CommandColumn, 'fit' | 'usual'> {
  readonly title: string
  readonly value: (row: Row) => unknown
}

function shown<Row>(column: Column<Row>): Shown<Row> {
  const { value, words, as, title = '', ...rest } = typeof column === 'object' ? column : { value: column }
  const read = typeof value === 'function' ? value : (row: Row) => fieldOf(row, value as string)
  return {
    ...rest,
    title: title === '' ? String(value).toUpperCase().replaceAll('_', ' ') : title,
    value: (row) => {
      const found = read(row)
      if (as === 'bytes') return octets(found)
      return words?.[String(found)] ?? (as === 'day' ? String(found).slice(0, 10) : moment(found))
    },
  }
}

/** What a field says, the first of several (`a|b`) that says anything, or a text with some in braces; undefined when one is missing. */
export function fieldOf(row: unknown, field: string): unknown {
  if (!field.includes('{')) {
    const values = field.split('|').map((one) => valueAt(row, one))
    return values.find((value) => value !== undefined && value !== null && value !== false) ?? values.at(-1)
  }
  const parts = field.split(/\{([\w.]+)\}/).map((part, at) => (at % 2 === 0 ? part : valueAt(row, part)))
  return parts.some((part) => part === undefined || part === null) ? undefined : parts.join('')
}

/** The value at a dotted path; undefined when there is none. */
export function valueAt(record: unknown, path: string): unknown {
  let value = record
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = Reflect.get(value, name)
  }
  return value
}

const GAP = '  '
/** A cut cell shows at least so much, the ellipsis included. */
const SHORTEST = 6
const ELLIPSIS = '…'

/**
 * Rows under titles, columns padded with spaces, no trailing blanks.
 *
 * `undefined` and `null` are written `-`. Control characters cannot reach the terminal. Lines are at most `width` long
 * where one is given and the columns can give way: cells are cut with an ellipsis, sentences go on in the next line.
 */
export function table<Row>(rows: readonly Row[], given: readonly Column<Row>[], width?: number): string {
  const all = given.map((column) => shown(column))
  const columns = width === undefined ? all : telling(rows, all, width)
  const lines = [columns.map((column) => column.title), ...rows.map((row) => cells(row, columns))]
  const natural = naturalWidths(lines)
  const widths = width === undefined ? natural : fitted(natural, columns, width)
  return lines
    .flatMap((line) => physical(line, columns, widths))
    .map((line) => `${line}\n`)
    .join('')
}

function naturalWidths(lines: readonly (readonly string[])[]): readonly number[] {
  const [first] = lines
  return (first ?? []).map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)))
}

/** The columns, without those that say the usual of every row where the lines are longer than `width`. */
function telling<Row>(
  rows: readonly Row[],
  columns: readonly Shown<Row>[],
  width: number,
): readonly Shown<Row>[] {
  const widths = naturalWidths([
    columns.map((column) => column.title),
    ...rows.map((row) => cells(row, columns)),
  ])
  const needed = widths.reduce((sum, one) => sum + one, 0) + GAP.length * (columns.length - 1)
  if (needed <= width) return columns
  return columns.filter(
    ({ usual, value }) => usual === undefined || rows.some((row) => cell(value(row)) !== usual),
  )
}

/** Widths that add up to `width`, taken from the widest column that can give way, as far as they can. */
function fitted<Row>(natural: readonly number[], columns: readonly Shown<Row>[], width: number): number[] {
  const widths = [...natural]
  const least = columns.map(({ fit, title }, i) =>
    fit === 'whole' ? (natural[i] ?? 0) : Math.min(natural[i] ?? 0, Math.max(title.length, SHORTEST)),
  )
  const room = width - GAP.length * (columns.length - 1)
  for (let over = widths.reduce((sum, one) => sum + one, 0) - room; over > 0; over -= 1) {
    let widest = -1
    for (const [i, one] of widths.entries())
      if (one > (least[i] ?? 0) && one > (widths[widest] ?? 0)) widest = i
    if (widest === -1) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

/** The lines on the screen of one row. */
function physical<Row>(
  line: readonly string[],
  columns: readonly Shown<Row>[],
  widths: readonly number[],
): readonly string[] {
  const parts = line.map((text, i) => {
    const width = widths[i] ?? 0
    return columns[i]?.fit === 'wrap' ? wrapped(text, width) : [cut(text, width)]
  })
  const height = Math.max(...parts.map((part) => part.length))
  return Array.from({ length: height }, (_, at) =>
    parts
      .map((part, i) => (part[at] ?? '').padEnd(widths[i] ?? 0))
      .join(GAP)
      .trimEnd(),
  )
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : text.slice(0, width - 1).trimEnd() + ELLIPSIS
}

/** Lines of whole words; a word that is longer than a line is parted. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
    while (line.length > width) {
      lines.push(line.slice(0, width))
      line = line.slice(width)
    }
  }
  return [...lines, line]
}

/** `name  value` lines of an object; objects inside are flattened to dotted names. */
export function fields(record: Readonly<Record<string, unknown>>): string {
  const rows = flatten(record)
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}\n`).join('')
}

/** Dotted names and their values; lists and empty objects are values. */
export function flatten(record: object, prefix = ''): readonly (readonly [string, unknown])[] {
  return Object.entries(record).flatMap(([key, value]: [string, unknown]) => {
    const name = prefix === '' ? key : `${prefix}.${key}`
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isGroup && Object.keys(value).length > 0 ? flatten(value, name) : [[name, value] as const]
  })
}

/** The text without anything that could move the cursor or end the line. */
export function printable(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  return value.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '\uFFFD')
}

/** The day of an end that never comes. RFC 5280 §4.1.2.5. */
const NEVER = '9999-12-31'

/** How a value is written in a table. */
export function cell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (typeof value === 'string') return value.startsWith(NEVER) ? 'no end' : printable(value)
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.length === 0 ? '-' : printable(value.join(', '))
  return printable(JSON.stringify(value))
}

/** A timestamp as people read it in a table: `2026-11-21 18:52:00Z`. The whole one is in the JSON. */
export function moment(value: unknown): unknown {
  return typeof value === 'string'
    ? value.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d+Z$/, '$1 $2Z')
    : value
}

function cells<Row>(row: Row, columns: readonly Shown<Row>[]): readonly string[] {
  return columns.map((column) => cell(column.value(row)))
}
