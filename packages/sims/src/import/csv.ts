import { validationFailed } from '@steeple/contracts'

/** One record of a CSV text: one line. `line` counts from 1. */
export interface CsvRecord {
  readonly line: number
  readonly cells: readonly string[]
  /** What makes it doubtful where its cells end; undefined when nothing does. */
  readonly problem: string | undefined
}

/** A CSV text, cut into lines. */
export interface Csv {
  readonly delimiter: string
  readonly records: Iterable<CsvRecord>
}

const DELIMITERS: readonly string[] = [',', ';', '\t']
const QUOTE = '"'
const LINE = /([^\r\n]*)(\r\n|\n|\r|$)/gy

/**
 * Reads CSV (RFC 4180): quoted cells, doubled quotes, CRLF, LF or CR, a byte order mark before. The delimiter is the
 * most frequent one of comma, semicolon and tab in the first line. Empty lines are left out.
 *
 * A cell ends in its own line: one that went on would take whole rows into itself when a quote is missing. Reading
 * throws `validation_failed` for it, naming the line in which the quote opens.
 */
export function readCsv(text: string): Csv {
  const plain = text.startsWith('\uFEFF') ? text.slice(1) : text
  const delimiter = delimiterOf(plain)
  return { delimiter, records: { [Symbol.iterator]: () => recordsOf(plain, delimiter) } }
}

function* recordsOf(text: string, delimiter: string): Generator<CsvRecord> {
  for (const { line, content } of linesOf(text)) {
    const record = new LineReader(line, content, delimiter).read()
    if (record.cells.length > 1 || record.cells[0]?.trim() !== '' || record.problem !== undefined)
      yield record
  }
}

function* linesOf(text: string): Generator<{ readonly line: number; readonly content: string }> {
  const pattern = new RegExp(LINE)
  let line = 0
  while (pattern.lastIndex < text.length) {
    const content = pattern.exec(text)?.[1] ?? ''
    line += 1
    yield { line, content }
  }
}

class LineReader {
  readonly #line: number
  readonly #text: string
  readonly #delimiter: string
  readonly #cells: string[] = []
  #at = 0
  #problem: string | undefined

  constructor(line: number, text: string, delimiter: string) {
    this.#line = line
    this.#text = text
    this.#delimiter = delimiter
  }

  read(): CsvRecord {
    do this.#cells.push(this.#cell())
    while (this.#isNextCell())
    return { line: this.#line, cells: this.#cells, problem: this.#problem }
  }

  #isNextCell(): boolean {
    if (this.#at >= this.#text.length) return false
    this.#at += 1
    return true
  }

  #cell(): string {
    let from = this.#at
    while (this.#text[from] === ' ') from += 1
    if (this.#text[from] !== QUOTE) return this.#plain()
    this.#at = from + 1
    const quoted = this.#quoted()
    const after = this.#rest()
    if (after.trim() === '') return quoted
    this.#doubt('has text behind a closing quote')
    return quoted + after
  }

  #plain(): string {
    const text = this.#rest()
    if (text.includes(QUOTE)) this.#doubt('has a quote within a cell that is not quoted')
    return text
  }

  /** The text up to the next delimiter. */
  #rest(): string {
    const end = this.#text.indexOf(this.#delimiter, this.#at)
    const rest = this.#text.slice(this.#at, end === -1 ? undefined : end)
    this.#at += rest.length
    return rest
  }

  #quoted(): string {
    let value = ''
    for (;;) {
      const end = this.#text.indexOf(QUOTE, this.#at)
      if (end === -1) throw unclosed(this.#line, this.#cells.length + 1)
      value += this.#text.slice(this.#at, end)
      this.#at = end + 1
      if (this.#text[this.#at] !== QUOTE) return value
      value += QUOTE
      this.#at += 1
    }
  }

  #doubt(what: string): void {
    this.#problem ??= `cell ${this.#cells.length + 1} ${what}; write it as "…" with each quote in it doubled`
  }
}

function unclosed(line: number, cell: number): Error {
  return validationFailed(
    `line ${line}: the quote that opens in cell ${cell} is not closed in that line; close it, or double it if it is part of a quoted text. A cell cannot hold a line break. Nothing was imported`,
  )
}

function delimiterOf(text: string): string {
  const header = /[^\r\n]+/.exec(text)?.[0] ?? ''
  const counts = DELIMITERS.map((delimiter) => header.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}
