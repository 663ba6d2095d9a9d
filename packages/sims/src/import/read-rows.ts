import { isUtf8 } from 'node:buffer'
import { malformedJson, type Pause, validationFailed } from '@steeple/contracts'
import {
  type CsvRecord,
  csvLines,
  delimiterOf,
  type LineSpan,
  MARK,
  readRecord,
  wholeCells,
} from '@steeple/telecom'
import { type Cells, type Column, cellsOf, columnOf, headerProblem, withoutSecrets } from './columns.ts'
import { cellsFromJson } from './json-cells.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPENING: readonly number[] = [OPEN_LIST, OPEN_OBJECT]
const CLOSING: readonly number[] = [CLOSE_LIST, CLOSE_OBJECT]
/** What is behind a value. */
const ENDS: readonly number[] = [COMMA, ...CLOSING]
/** Octets of JSON that are looked at without giving others a turn. */
const LOOKED_AT_ONCE = 262_144
/** A body up to this size is parsed to say what is wrong with it. */
const EXPLAINED_BYTES = 65_536

/** Members that hold a list of subscribers: this service's own, Ella Core's, free5GC's, PyHSS's. */
const LISTS: ReadonlySet<string> = new Set(['sims', 'items', 'subscribers', 'data', 'results'])

/**
 * Where the rows of a body are, without parsing them: those of `{"sims": [row, …]}` (or another list of `LISTS`, whatever
 * stands before and behind it), of a list, or objects one after the other, a line each as mongoexport writes them.
 * Undefined now and then, where no row ended for long: others may have a turn. Throws `malformed_json`.
 */
export function* jsonRows(bytes: Buffer): Generator<LineSpan | undefined> {
  const start = yield* behindSpace(bytes, MARK.every((octet, i) => bytes[i] === octet) ? MARK.length : 0)
  const isInside = bytes[start] === OPEN_OBJECT
  const list = isInside ? yield* listIn(bytes, start) : bytes[start] === OPEN_LIST ? start : undefined
  if (list === undefined) return yield* sequence(bytes, start)
  let at = yield* behindSpace(bytes, list + 1)
  let isMore = bytes[at] !== CLOSE_LIST
  if (!isMore) at += 1
  while (isMore) {
    const from = yield* behindSpace(bytes, at)
    const to = yield* endOfValue(bytes, from)
    if (to === from || bytes[to] === CLOSE_OBJECT) throw malformedAt(to)
    yield { line: null, from, to }
    at = to + 1
    isMore = bytes[to] === COMMA
  }
  yield* endOfBody(bytes, yield* behindSpace(bytes, at), isInside)
}

/** Behind the list there may be members of the object around it, and nothing else. */
function* endOfBody(bytes: Buffer, from: number, isInside: boolean): Generator<undefined> {
  let at = from
  if (isInside) {
    while (bytes[at] === COMMA) {
      yield undefined
      at = yield* endOfValue(bytes, at + 1)
    }
    if (bytes[at] !== CLOSE_OBJECT) throw malformedAt(at)
    at = yield* behindSpace(bytes, at + 1)
  }
  if (at < bytes.length) throw malformedAt(at)
}

/** Where the list of rows begins in the object at `from`; undefined when the object has none, and is a row itself. */
function* listIn(bytes: Buffer, from: number): Generator<undefined, number | undefined> {
  let at = from
  do {
    yield undefined
    const nameFrom = yield* behindSpace(bytes, at + 1)
    if (bytes[nameFrom] !== QUOTE) return undefined
    const nameTo = bytes.indexOf(QUOTE, nameFrom + 1)
    const colon = nameTo === -1 ? -1 : yield* behindSpace(bytes, nameTo + 1)
    if (colon === -1 || bytes[colon] !== COLON) return undefined
    const value = yield* behindSpace(bytes, colon + 1)
    if (bytes[value] === OPEN_LIST && LISTS.has(bytes.toString('utf8', nameFrom + 1, nameTo))) return value
    at = yield* endOfValue(bytes, value)
  } while (bytes[at] === COMMA)
  return undefined
}

/** Objects with white space or commas between them. */
function* sequence(bytes: Buffer, from: number): Generator<LineSpan | undefined> {
  let at = from
  if (at >= bytes.length) throw otherForm(bytes)
  while (at < bytes.length) {
    if (bytes[at] !== OPEN_OBJECT) throw otherForm(bytes)
    const to = 1 + (yield* endOfValue(bytes, at, CLOSE_OBJECT))
    yield { line: null, from: at, to }
    at = yield* behindSpace(bytes, to)
    if (bytes[at] === COMMA) at = yield* behindSpace(bytes, at + 1)
  }
}

/** The value of a row's octets. Throws `malformed_json`. */
function jsonRow(bytes: Buffer, { from, to }: LineSpan): unknown {
  const text = bytes.toString('utf8', from, to)
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
      throw malformedJson('the property __proto__ is not accepted')
    return value
  } catch (error) {
    // V8's message quotes the text, which may hold a secret.
    throw error instanceof SyntaxError ? malformedAt(from) : error
  }
}

/** The end of the value that begins at `from`: the `,`, `]` or `}` behind it, or the sign `closing` that closes it. */
function* endOfValue(bytes: Buffer, from: number, closing?: number): Generator<undefined, number> {
  const place = { at: from, depth: 0, isText: false, closing }
  while (place.at < bytes.length) {
    if (isEndFound(bytes, place, Math.min(bytes.length, place.at + LOOKED_AT_ONCE))) return place.at
    yield undefined
  }
  throw malformedJson('it ends too early or is misspelt')
}

/** Goes on up to `limit`; true when `at` is the end of the value. */
function isEndFound(
  bytes: Buffer,
  place: { at: number; depth: number; isText: boolean; readonly closing: number | undefined },
  limit: number,
): boolean {
  for (; place.at < limit; place.at++) {
    const octet = bytes[place.at] ?? 0
    if (octet === QUOTE) place.isText = !place.isText
    else if (place.isText) place.at += octet === BACKSLASH ? 1 : 0
    else if (isEnd(place, octet)) return true
    else place.depth += stepOf(octet)
  }
  return false
}

function isEnd(
  { depth, closing }: { readonly depth: number; readonly closing: number | undefined },
  octet: number,
): boolean {
  return depth === 0 ? ENDS.includes(octet) : depth === 1 && octet === closing
}

function stepOf(octet: number): number {
  if (OPENING.includes(octet)) return 1
  return CLOSING.includes(octet) ? -1 : 0
}

function* behindSpace(bytes: Buffer, from: number): Generator<undefined, number> {
  let at = from
  while (isSpace(bytes[at])) {
    at += 1
    if ((at - from) % LOOKED_AT_ONCE === 0) yield undefined
  }
  return at
}

/** RFC 8259 §2. */
function isSpace(octet: number | undefined): boolean {
  return octet === 0x20 || octet === 0x0a || octet === 0x0d || octet === 0x09
}

function malformedAt(at: number): Error {
  return malformedJson(`see byte ${at}`)
}

/** JSON of another form, or no JSON at all. */
function otherForm(bytes: Buffer): Error {
  if (bytes.length <= EXPLAINED_BYTES) {
    try {
      JSON.parse(bytes.toString('utf8'))
    } catch {
      return malformedJson('it ends too early or is misspelt')
    }
  }
  const message = 'must be {"sims": [row, …]}, a list of rows, or one object a line'
  return validationFailed(`body: ${message}`, { details: [{ pointer: '', message }] })
}

/** A row with more octets is not read: nothing that a SIM has is as long. */
const MAX_ROW_BYTES = 16_384

/** A column of a CSV, and what it is read as; null: it is not read. */
interface ReadColumn {
  readonly name: string
  readonly read_as: Column | null
}

/** The rows of a body, each read where it is wanted. */
export interface Rows {
  /** Of a CSV. */
  readonly columns: readonly ReadColumn[]
  /** Where they are, in order. Undefined now and then, where there was none for long: others may have a turn. */
  places(): Iterable<LineSpan | undefined>
  /**
   * What a row says; undefined for a line that has nothing in it. Throws `validation_failed` for a quote that is not
   * closed, and `malformed_json`: then nothing of the body can be relied upon.
   */
  cells(place: LineSpan): Cells | undefined
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

function textAt(bytes: Buffer, { from, to }: LineSpan): string {
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
