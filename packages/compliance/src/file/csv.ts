import { csvLine } from '@steeple/contracts'
import { COLUMN_NAMES, type ExportRow } from './columns.ts'

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
