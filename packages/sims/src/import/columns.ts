/** What a row of an import can say. */
export type Column =
  | 'imsi'
  | 'ki'
  | 'opc'
  | 'op'
  | 'iccid'
  | 'msisdn'
  | 'profile'
  | 'apns'
  | 'expires_at'
  | 'label'
  | 'adm1'
  | 'pin1'
  | 'puk1'
  | 'pin2'
  | 'puk2'
  /** No column: what keeps the row from being read at all. */
  | 'problem'

/** One row as texts; what it lacks or leaves empty is not there. */
export type Cells = ReadonlyMap<Column, string>

/** Names of columns without case, spaces and signs: this service's own and those of card vendors' and pySim's files. */
const NAMES: ReadonlyMap<string, Column> = new Map([
  ['imsi', 'imsi'],
  ['ki', 'ki'],
  ['k', 'ki'],
  ['key', 'ki'],
  ['opc', 'opc'],
  ['op', 'op'],
  ['iccid', 'iccid'],
  ['msisdn', 'msisdn'],
  ['profile', 'profile'],
  ['apns', 'apns'],
  ['apn', 'apns'],
  ['expiresat', 'expires_at'],
  ['label', 'label'],
  ['adm1', 'adm1'],
  ['adm', 'adm1'],
  ['pinadm', 'adm1'],
  ['pin1', 'pin1'],
  ['pin', 'pin1'],
  ['puk1', 'puk1'],
  ['puk', 'puk1'],
  ['pin2', 'pin2'],
  ['puk2', 'puk2'],
])

/** The column behind a name of a header or a property; undefined for one that is not read. */
export function columnOf(name: string): Column | undefined {
  return NAMES.get(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))
}

/** What keeps a header from being used; undefined when nothing. */
export function headerProblem(columns: readonly (Column | undefined)[]): string | undefined {
  const known = columns.filter((column) => column !== undefined)
  const twice = known.find((column, i) => known.indexOf(column) !== i)
  if (twice !== undefined) return `the column ${twice} is there twice`
  const missing = (['imsi', 'ki'] as const).filter((column) => !known.includes(column))
  if (missing.length > 0) return `the header row lacks ${missing.join(' and ')}`
  return known.includes('opc') || known.includes('op') ? undefined : 'the header row lacks opc or op'
}

/** The cells of a CSV record under its header. Those that it lacks at its end count as empty. */
export function cellsOf(
  columns: readonly (Column | undefined)[],
  record: readonly string[],
): Map<Column, string> {
  const cells = new Map<Column, string>()
  columns.forEach((column, i) => {
    const text = record[i]?.trim() ?? ''
    if (column !== undefined && text !== '') cells.set(column, text)
  })
  return cells
}

/**
 * The cells of a JSON row. A list counts as its texts with `;` between. What a file of CSV may have beside (columns of
 * other tools) is a mistake here: `problem` names it.
 */
export function cellsFromJson(row: unknown): Cells {
  const cells = new Map<Column, string>()
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    return cells.set('problem', 'the row is not an object')
  for (const [name, value] of Object.entries(row)) {
    const column = columnOf(name)
    const text = textOf(value)
    if (column === undefined) return cells.set('problem', `unknown property ${shown(name)}`)
    if (text === undefined) return cells.set('problem', `${column} must be a text`)
    if (text !== '') cells.set(column, text)
  }
  return cells
}

function textOf(value: unknown): string | undefined {
  if (value === null) return ''
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(';')
  return typeof value === 'string' ? value.trim() : undefined
}

/** A name out of a request; not one that could be a key or an IMSI in the wrong place. */
function shown(name: string): string {
  return /^[A-Za-z_][\w -]{0,39}$/.test(name) && !/[0-9a-fA-F]{10}/.test(name) ? `"${name}"` : '(not shown)'
}
