/** One column of a table: its title and how a row's value is written. */
export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => unknown
}

/**
 * Rows under titles, columns padded with spaces, no trailing blanks, one line per row.
 *
 * `undefined` and `null` are written `-`. Control characters cannot reach the terminal.
 */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const lines = [columns.map((column) => column.title), ...rows.map((row) => cells(row, columns))]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
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

/** How a value is written in a table. */
export function cell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (typeof value === 'string') return printable(value)
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.length === 0 ? '-' : printable(value.join(', '))
  return printable(JSON.stringify(value))
}

function cells<Row>(row: Row, columns: readonly Column<Row>[]): readonly string[] {
  return columns.map((column) => cell(column.value(row)))
}
