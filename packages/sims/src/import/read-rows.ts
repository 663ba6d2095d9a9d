import { isUtf8 } from 'node:buffer'
import { malformedJson, type Pause, validationFailed } from '@steeple/contracts'
import { type Cells, type Column, cellsOf, columnOf, headerProblem, withoutSecrets } from './columns.ts'
import { type CsvRecord, csvLines, delimiterOf, type Place, readRecord, wholeCells } from './csv.ts'
import { cellsFromJson } from './json-cells.ts'
import { jsonRow, jsonRows } from './json-rows.ts'

/** A row with more octets is not read: nothing that a SIM has is as long. */
const MAX_ROW_BYTES = 16_384

/** A column of a CSV, and what it is read as; null: it is not read. */
export interface ReadColumn {
  readonly name: string
  readonly read_as: Column | null
}

/** The rows of a body, each read where it is wanted. */
export interface Rows {
  /** Of a CSV. */
  readonly columns: readonly ReadColumn[]
  /** Where they are, in order. Undefined now and then, where there was none for long: others may have a turn. */
  places(): Iterable<Place | undefined>
  /**
   * What a row says; undefined for a line that has nothing in it. Throws `validation_failed` for a quote that is not
   * closed, and `malformed_json`: then nothing of the body can be relied upon.
   */
  cells(place: Place): Cells | undefined
}

/** The rows of a CSV. Throws `validation_failed` when it has no header row that can be used. */
export async function csvRows(bytes: Buffer, pause: Pause): Promise<Rows> {
  const { line: headerLine, cells: names, delimiter } = await headerOf(bytes, pause)
  const columns = names.map(columnOf)
  return {
    columns: names.map((name, at) => ({ name: withoutSecrets(name.trim()), read_as: columns[at] ?? null })),
    places: function* () {
      for (const place of wholeCells(bytes, MAX_ROW_BYTES))
        if (place === undefined || (place.line ?? 0) > headerLine) yield place
    },
    cells: (place) => {
      const line = place.line ?? 0
      if (place.to - place.from > MAX_ROW_BYTES) return tooLong(`line ${line}: `)
      const text = textAt(bytes, place)
      if (isComment(text)) return undefined
      const record = readRecord(line, text, delimiter)
      return isEmpty(record) ? undefined : rowOf(columns, record, delimiter)
    },
  }
}

interface Header {
  readonly line: number
  readonly cells: readonly string[]
  readonly delimiter: string
}

/** Excel's first line, which names the delimiter: no blank and no quote, which mean something else in a row. */
const SEPARATOR = /^\s*"?sep=([^"\s]|\t)"?\s*$/i
/** Lines before the header. */
const MOST_BEFORE = 1_000

/** The first line that is none of Excel's `sep=`, or a comment that names the columns, as in srsEPC's file. */
async function headerOf(bytes: Buffer, pause: Pause): Promise<Header> {
  let separator: string | undefined
  let before = 0
  for (const place of csvLines(bytes)) {
    await pause()
    if (place === undefined) continue
    before += 1
    if (before > MOST_BEFORE)
      throw validationFailed(`line ${place.line}: no header row stands in the first ${MOST_BEFORE} lines`)
    if (place.to - place.from > MAX_ROW_BYTES)
      throw validationFailed(`line ${place.line}: the header row is longer than ${MAX_ROW_BYTES} octets`)
    const text = textAt(bytes, place)
    const named = SEPARATOR.exec(text)?.[1]
    separator ??= named
    const header = named === undefined ? headerIn(place.line ?? 0, text, separator) : undefined
    if (header !== undefined) return header
  }
  throw validationFailed('the CSV is empty; its first line must be a header row')
}

/** Undefined for a line that is empty or a comment about something else. Throws `validation_failed`. */
function headerIn(line: number, text: string, separator: string | undefined): Header | undefined {
  if (isComment(text)) {
    const cells = columnsInComment(text)
    return cells && { line, cells, delimiter: ',' }
  }
  const delimiter = separator ?? delimiterOf(text)
  const record = readRecord(line, text, delimiter)
  if (isEmpty(record)) return undefined
  const { cells, problem } = record
  const refused =
    problem === undefined ? headerProblem(cells.map(columnOf)) : `the header row: line ${line}: ${problem}`
  if (refused !== undefined) throw validationFailed(refused)
  return { line, cells, delimiter }
}

function isComment(text: string): boolean {
  return text.trimStart().startsWith('#')
}

/** The names of columns in a comment, in quotes or not; undefined when it names none that make rows. */
function columnsInComment(text: string): readonly string[] | undefined {
  const quoted = /"([^"]+)"/.exec(text)?.[1]
  const cells = (quoted ?? text.replace(/^[\s#]+/, '')).split(',')
  return headerProblem(cells.map(columnOf)) === undefined ? cells : undefined
}

/** The rows of JSON. Throws `malformed_json`, `validation_failed`. */
export function jsonRowsOf(bytes: Buffer): Rows {
  if (!isUtf8(bytes)) throw malformedJson('it is not UTF-8')
  return {
    columns: [],
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

/** Rows that were cleared in a spreadsheet have cells with nothing in them. */
function isEmpty({ cells, problem }: CsvRecord): boolean {
  return cells.every((cell) => cell.trim() === '') && problem === undefined
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
