import { setImmediate as nextTurn } from 'node:timers/promises'
import { validationFailed } from '@steeple/contracts'
import { type Cells, type Column, cellsFromJson, cellsOf, columnOf, headerProblem } from './columns.ts'
import { type CsvRecord, readCsv } from './csv.ts'
import { iccidText } from './import-row.ts'
import { type ImportBody, MAX_ROWS } from './import-schema.ts'

/** Rows that are looked at without giving others a turn. */
const LOOKED_AT_ONCE = 1_000

/**
 * Looks at a whole body before a part of it is imported: the ICCIDs that it has, not checked. Throws `validation_failed`
 * for a CSV that has no header row that can be used or has a quote that is not closed, and for too many rows.
 */
export async function checkRows(body: ImportBody): Promise<ReadonlySet<string>> {
  const iccids = new Set<string>()
  let count = 0
  for (const cells of rowsOf(body)) {
    count += 1
    if (count > MAX_ROWS) throw validationFailed(`an import has at most ${MAX_ROWS} rows; split the file`)
    const iccid = iccidText(cells)
    if (iccid !== undefined) iccids.add(iccid)
    if (count % LOOKED_AT_ONCE === 0) await nextTurn()
  }
  return iccids
}

/** The rows of a body that `checkRows` let pass, one by one. */
export function* rowsOf(body: ImportBody): Generator<Cells> {
  if (typeof body === 'string') yield* csvRows(body)
  else for (const row of body.sims) yield cellsFromJson(row)
}

function* csvRows(text: string): Generator<Cells> {
  const { delimiter, records } = readCsv(text)
  let columns: readonly (Column | undefined)[] | undefined
  for (const record of records) {
    if (columns === undefined) columns = columnsOf(record)
    else yield rowOf(columns, record, delimiter)
  }
  if (columns === undefined) throw validationFailed('the CSV is empty; its first line must be a header row')
}

function columnsOf({ line, cells, problem }: CsvRecord): readonly (Column | undefined)[] {
  const columns = cells.map(columnOf)
  const refused = problem === undefined ? headerProblem(columns) : `the header row: line ${line}: ${problem}`
  if (refused !== undefined) throw validationFailed(refused)
  return columns
}

/** The row, with a problem when one of its cells may have landed in the wrong column or in none. */
function rowOf(columns: readonly (Column | undefined)[], record: CsvRecord, delimiter: string): Cells {
  const { line, cells, problem } = record
  const row = cellsOf(columns, cells)
  if (problem !== undefined) return row.set('problem', `line ${line}: ${problem}`)
  if (cells.slice(columns.length).every((cell) => cell.trim() === '')) return row
  const sign = delimiter === '\t' ? 'tab' : `"${delimiter}"`
  const text = `line ${line}: has ${cells.length} cells and the header row ${columns.length}; a cell with a ${sign} in it must be in quotes`
  return row.set('problem', text)
}
