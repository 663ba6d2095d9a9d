import { isUtf8 } from 'node:buffer'
import { malformedJson, type Pause, validationFailed } from '@steeple/contracts'
import { type Cells, type Column, cellsFromJson, cellsOf, columnOf, headerProblem } from './columns.ts'
import { type CsvRecord, csvLines, delimiterOf, type Place, readRecord } from './csv.ts'
import { jsonRow, jsonRows } from './json-rows.ts'

/** A row with more octets is not read: nothing that a SIM has is as long. */
const MAX_ROW_BYTES = 16_384

/** The rows of a body, each read where it is wanted. */
export interface Rows {
  /** Where they are, in order. Undefined now and then, where there was none for long: others may have a turn. */
  places(): Iterable<Place | undefined>
  /**
   * What a row says; undefined for a line that has nothing in it. Throws `validation_failed` for a quote that is not
   * closed, and `malformed_json`: then nothing of the body can be relied upon.
   */
  cells(place: Place): Cells | undefined
}

/** The rows of a CSV. Throws `validation_failed` when it is not UTF-8, or has no header row that can be used. */
export async function csvRows(bytes: Buffer, pause: Pause): Promise<Rows> {
  if (!isUtf8(bytes)) await refuseOther(bytes, pause)
  const { record: first, delimiter } = await headerOf(bytes, pause)
  const columns = columnsOf(first)
  return {
    places: function* () {
      for (const place of csvLines(bytes))
        if (place === undefined || (place.line ?? 0) > first.line) yield place
    },
    cells: (place) => {
      const line = place.line ?? 0
      if (place.to - place.from > MAX_ROW_BYTES) return tooLong(`line ${line}: `)
      const record = readRecord(line, textAt(bytes, place), delimiter)
      return isEmpty(record) ? undefined : rowOf(columns, record, delimiter)
    },
  }
}

/** What is read as another encoding than it has loses letters, and nobody would see that they were lost. */
async function refuseOther(bytes: Buffer, pause: Pause): Promise<never> {
  let where = ''
  for (const place of csvLines(bytes)) {
    await pause()
    if (place === undefined || isUtf8(bytes.subarray(place.from, place.to))) continue
    where = `line ${place.line}: `
    break
  }
  throw validationFailed(`${where}the CSV is not UTF-8; save it as CSV in UTF-8. Nothing was imported`)
}

async function headerOf(
  bytes: Buffer,
  pause: Pause,
): Promise<{ readonly record: CsvRecord; readonly delimiter: string }> {
  for (const place of csvLines(bytes)) {
    await pause()
    if (place === undefined) continue
    if (place.to - place.from > MAX_ROW_BYTES)
      throw validationFailed(`line ${place.line}: the header row is longer than ${MAX_ROW_BYTES} octets`)
    const text = textAt(bytes, place)
    const delimiter = delimiterOf(text)
    const record = readRecord(place.line ?? 0, text, delimiter)
    if (!isEmpty(record)) return { record, delimiter }
  }
  throw validationFailed('the CSV is empty; its first line must be a header row')
}

/** The rows of `{"sims": [row, …]}`. Throws `malformed_json`, `validation_failed`. */
export function jsonRowsOf(bytes: Buffer): Rows {
  if (!isUtf8(bytes)) throw malformedJson('it is not UTF-8')
  return {
    places: () => jsonRows(bytes),
    cells: (place) =>
      place.to - place.from > MAX_ROW_BYTES ? tooLong('') : cellsFromJson(jsonRow(bytes, place)),
  }
}

function textAt(bytes: Buffer, { from, to }: Place): string {
  return bytes.toString('utf8', from, to)
}

function tooLong(where: string): Cells {
  return new Map([['problem', `${where}the row is longer than ${MAX_ROW_BYTES} octets`]])
}

function isEmpty({ cells, problem }: CsvRecord): boolean {
  return cells.length <= 1 && (cells[0] ?? '').trim() === '' && problem === undefined
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
  if (cells.length <= columns.length || cells.slice(columns.length).every((cell) => cell.trim() === ''))
    return row
  const sign = delimiter === '\t' ? 'tab' : `"${delimiter}"`
  const text = `line ${line}: has ${cells.length} cells and the header row ${columns.length}; a cell with a ${sign} in it must be in quotes`
  return row.set('problem', text)
}
