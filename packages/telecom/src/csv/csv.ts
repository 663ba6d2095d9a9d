import { isUtf8 } from 'node:buffer'
import { type Pause, validationFailed } from '@steeple/contracts'

/** First octets of files that spreadsheets save when they are not asked for CSV. */
const WORKBOOKS: readonly (readonly [octets: readonly number[], what: string])[] = [
  [[0x50, 0x4b, 0x03, 0x04], 'an Excel or OpenDocument workbook, or another ZIP archive'],
  [[0xd0, 0xcf, 0x11, 0xe0], 'an Excel workbook of 2003 and before'],
]
const LITTLE_ENDIAN = [0xff, 0xfe] as const
const BIG_ENDIAN = [0xfe, 0xff] as const
const HOW_TO_SAVE = 'In Excel save it as "CSV UTF-8 (Comma delimited)". Nothing was imported'

/**
 * A CSV, or another text, as UTF-8: UTF-16 with a byte order mark, Excel's "Unicode Text", is converted. Throws `validation_failed` for a
 * workbook and for any other encoding, naming the line: read as UTF-8 it would lose letters without a word.
 */
export async function readableCsv(bytes: Buffer, pause: Pause): Promise<Buffer> {
  const begins = (octets: readonly number[]): boolean => octets.every((octet, i) => bytes[i] === octet)
  const workbook = WORKBOOKS.find(([octets]) => begins(octets))
  if (workbook !== undefined) throw validationFailed(`the file is ${workbook[1]}, and no CSV. ${HOW_TO_SAVE}`)
  if (begins(LITTLE_ENDIAN)) return fromUtf16('utf-16le', bytes)
  if (begins(BIG_ENDIAN)) return fromUtf16('utf-16be', bytes)
  if (isUtf8(bytes)) return bytes
  if (bytes.includes(0)) throw validationFailed(`the file is binary, and no CSV. ${HOW_TO_SAVE}`)
  for (const place of csvLines(bytes)) {
    await pause()
    if (place === undefined || isUtf8(bytes.subarray(place.from, place.to))) continue
    throw validationFailed(
      `line ${place.line}: the CSV is not UTF-8; it seems to be in an encoding of Windows (Latin-1). ${HOW_TO_SAVE}`,
    )
  }
  throw validationFailed(`the CSV is not UTF-8. ${HOW_TO_SAVE}`)
}

function fromUtf16(encoding: string, bytes: Buffer): Buffer {
  try {
    return Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(bytes))
  } catch (error) {
    throw validationFailed(`the CSV begins as UTF-16 and is cut or damaged. ${HOW_TO_SAVE}`, { cause: error })
  }
}

/** One record of a CSV text: one line. `line` counts from 1. */
export interface CsvRecord {
  readonly line: number
  readonly cells: readonly string[]
  /** What makes it doubtful where its cells end; undefined when nothing does. */
  readonly problem: string | undefined
}

/** Where a line of a body is: its number from 1, and its octets without what ends it. */
export interface LineSpan {
  /** Null for a body that is not read by lines. */
  readonly line: number | null
  readonly from: number
  readonly to: number
}

const DELIMITERS: readonly string[] = [',', ';', '\t']
const QUOTE = '"'
const QUOTE_OCTET = 0x22
const NEWLINE = 0x0a
const RETURN = 0x0d
/** Octets of the byte order mark in UTF-8. */
export const MARK = [0xef, 0xbb, 0xbf] as const
/** Line ends that are passed over without giving others a turn. */
const PASSED_AT_ONCE = 65_536

/**
 * The lines of a CSV that are not empty; CRLF, LF or CR end them, a byte order mark may be before. Undefined now and
 * then, where nothing was found for long: others may have a turn.
 */
export function* csvLines(bytes: Buffer): Generator<LineSpan | undefined> {
  let at = MARK.every((octet, i) => bytes[i] === octet) ? MARK.length : 0
  let line = 1
  let passed = 0
  const next = { [NEWLINE]: -1, [RETURN]: -1 }
  const endOf = (sign: typeof NEWLINE | typeof RETURN): number => {
    if (next[sign] < at) {
      const found = bytes.indexOf(sign, at)
      next[sign] = found === -1 ? bytes.length : found
    }
    return next[sign]
  }
  while (at < bytes.length) {
    const octet = bytes[at]
    if (octet === NEWLINE || octet === RETURN) {
      at += octet === RETURN && bytes[at + 1] === NEWLINE ? 2 : 1
      line += 1
      passed += 1
      if (passed % PASSED_AT_ONCE === 0) yield undefined
      continue
    }
    const to = Math.min(endOf(NEWLINE), endOf(RETURN))
    yield { line, from: at, to }
    at = to
  }
}

/** Lines that one quoted cell may go over. */
const MOST_LINES = 16

/**
 * As `csvLines`, but a line in which a quote stays open goes on to the line that closes it, as a label of two lines in a
 * spreadsheet does. Where none of the next lines closes it, the line stands alone. `longest`: octets of a row.
 */
export function* wholeCells(bytes: Buffer, longest: number): Generator<LineSpan | undefined> {
  let open: LineSpan[] = []
  for (const place of csvLines(bytes)) {
    if (place === undefined) {
      yield undefined
      continue
    }
    // A line that is too long for a row is read by nobody.
    const isOdd = place.to - place.from <= longest && hasOddQuotes(bytes, place)
    if (open.length === 0 && !isOdd) {
      yield place
      continue
    }
    open.push(place)
    if (open.length === 1 || (!isOdd && open.length <= MOST_LINES)) continue
    yield* isOdd ? [joined(open, place)] : open
    open = []
  }
  yield* open
}

function joined(lines: readonly LineSpan[], { to }: LineSpan): LineSpan {
  return { line: lines[0]?.line ?? null, from: lines[0]?.from ?? to, to }
}

function hasOddQuotes(bytes: Buffer, { from, to }: LineSpan): boolean {
  let isOdd = false
  for (let at = from; at < to; at++) if (bytes[at] === QUOTE_OCTET) isOdd = !isOdd
  return isOdd
}

/**
 * Reads one record of CSV (RFC 4180): quoted cells, doubled quotes. Throws `validation_failed` for a quote that is not
 * closed, naming the line.
 */
export function readRecord(line: number, text: string, delimiter: string): CsvRecord {
  const cells: string[] = []
  let problem: string | undefined
  let at = 0
  const doubt = (what: string): void => {
    problem ??= `cell ${cells.length + 1} ${what}; write it as "…" with each quote in it doubled`
  }
  const upToDelimiter = (): string => {
    const end = text.indexOf(delimiter, at)
    const found = text.slice(at, end === -1 ? undefined : end)
    at += found.length
    return found
  }
  const quoted = (): string => {
    for (let value = ''; ; at += 1) {
      const end = text.indexOf(QUOTE, at)
      if (end === -1) throw unclosed(line, cells.length + 1)
      value += text.slice(at, end)
      at = end + 1
      if (text[at] !== QUOTE) return value
      value += QUOTE
    }
  }
  const cell = (): string => {
    let from = at
    while (text[from] === ' ') from += 1
    // A spreadsheet's way to keep a number as text.
    if (text.startsWith('="', from)) from += 1
    if (text[from] !== QUOTE) {
      const plain = upToDelimiter()
      if (plain.includes(QUOTE)) doubt('has a quote within a cell that is not quoted')
      return plain
    }
    at = from + 1
    const value = quoted()
    const after = upToDelimiter()
    if (after.trim() === '') return value
    doubt('has text behind a closing quote')
    return value + after
  }
  for (;;) {
    cells.push(cell())
    if (at >= text.length) return { line, cells, problem }
    at += 1
  }
}

function unclosed(line: number, cell: number): Error {
  return validationFailed(
    `line ${line}: the quote that opens in cell ${cell} is not closed in that line; close it, or double it inside quoted text`,
  )
}

/** The most frequent one of comma, semicolon and tab in a header row. */
export function delimiterOf(header: string): string {
  const counts = DELIMITERS.map((delimiter) => header.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}
