import { csvLine } from '@steeple/contracts'

/**
 * The columns of the file, in their order, with what they say. They are stable: a later version adds its own at the end, and
 * changes or removes none. docs/reference/regulator-file.md says which of them a kind fills.
 */
const COLUMNS = [
  ['kind', 'What the row is about.'],
  ['id', 'Which one of its kind: a number that grows, or the id of a TX interval.'],
  ['at', 'When it happened or began: RFC 3339, UTC, milliseconds.'],
  ['until', 'When it ended; empty while it lasts, and for what has no length.'],
  ['subject', 'Whom or what it is about: the hash of a SIM, the id of a node.'],
  ['from', 'The state before.'],
  ['to', 'The state after.'],
  ['reason', 'Why.'],
  ['by', 'Who did it: kind:id, or kind:id/name.'],
  ['profile', 'Id of the radio profile.'],
  ['technology', 'lte or nr.'],
  ['band', 'b3, n78.'],
  ['channel', 'Downlink EARFCN or NR-ARFCN.'],
  ['bandwidth_mhz', 'Bandwidth of the carrier, MHz.'],
  ['eirp_dbm', 'Power that the antenna radiates, dBm.'],
  ['country', 'ISO 3166-1 alpha-2.'],
  ['license_reference', 'Reference of the license in force.'],
  ['license_holder', 'Holder of the license in force.'],
  ['apn', 'Access point name.'],
  ['plmn', 'The network: 999-99.'],
  ['ue_address', 'IPv4 address or IPv6 prefix of the phone.'],
  ['cell', 'The cell, as the core names it.'],
  ['up_bytes', 'Octets from the phone.'],
  ['down_bytes', 'Octets to the phone.'],
  ['detail', 'What else there is to say; JSON where it begins with { or [.'],
] as const

export type Column = (typeof COLUMNS)[number][0]

/** The names of all columns, in order. */
export const COLUMN_NAMES: readonly Column[] = COLUMNS.map(([name]) => name)

/** A row: the cells that it has. Null and absent are both an empty cell. */
export type ExportRow = Readonly<Partial<Record<Column, string | number | null>>>

/** The line of a row in the columns of the file. */
export function rowLine(row: ExportRow): string {
  return csvLine(COLUMN_NAMES.map((name) => row[name]))
}

export const HEADER: string = csvLine(COLUMN_NAMES)

/** The value of a cell as it was before it was neutralised: without the one apostrophe in front. */
export function plainCell(cell: string): string {
  return cell.startsWith("'") ? cell.slice(1) : cell
}

/** The cells of one line, without its CRLF. Undefined where it is no line of RFC 4180. */
export function cellsOf(line: string): readonly string[] | undefined {
  const cells: string[] = []
  let at = 0
  for (;;) {
    const end = line[at] === '"' ? quotedEnd(line, at) : plainEnd(line, at)
    if (end === undefined) return undefined
    const cell = line.slice(at, end)
    cells.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell)
    if (end === line.length) return cells
    at = end + 1
  }
}

function plainEnd(line: string, at: number): number | undefined {
  const comma = line.indexOf(',', at)
  const end = comma === -1 ? line.length : comma
  return /["\r\n]/.test(line.slice(at, end)) ? undefined : end
}

/** Behind the closing quote, which a comma or the end has to follow. */
function quotedEnd(line: string, at: number): number | undefined {
  let end = at + 1
  for (;;) {
    const quote = line.indexOf('"', end)
    if (quote === -1) return undefined
    end = quote + 1
    if (line[end] === '"') end += 1
    else return end === line.length || line[end] === ',' ? end : undefined
  }
}
