/** One record of a CSV text. `line` is that of its first character, from 1. */
export interface CsvRecord {
  readonly line: number
  readonly cells: readonly string[]
}

const DELIMITERS: readonly string[] = [',', ';', '\t']
const QUOTE = '"'

/**
 * Reads CSV (RFC 4180) record by record: quoted cells, doubled quotes, CRLF or LF, a byte order mark before. The
 * delimiter is the most frequent one of comma, semicolon and tab in the first line. Empty lines are left out.
 * A quote that never ends: the rest is its cell.
 */
export function* csvRecords(text: string): Generator<CsvRecord> {
  const reader = new CsvReader(text.startsWith('\uFEFF') ? text.slice(1) : text)
  for (let record = reader.next(); record !== undefined; record = reader.next())
    if (record.cells.length > 1 || record.cells[0]?.trim() !== '') yield record
}

class CsvReader {
  readonly #text: string
  readonly #delimiter: string
  #at = 0
  #line = 1

  constructor(text: string) {
    this.#text = text
    this.#delimiter = delimiterOf(text)
  }

  /** The next record; undefined at the end. */
  next(): CsvRecord | undefined {
    if (this.#at >= this.#text.length) return undefined
    const line = this.#line
    const cells: string[] = []
    do cells.push(this.#cell())
    while (this.#isNextCell())
    this.#endLine()
    return { line, cells }
  }

  #isNextCell(): boolean {
    if (this.#text[this.#at] !== this.#delimiter) return false
    this.#at += 1
    return true
  }

  #endLine(): void {
    if (this.#text[this.#at] === '\r') this.#at += 1
    if (this.#text[this.#at] === '\n') this.#at += 1
    this.#line += 1
  }

  #cell(): string {
    let from = this.#at
    while (this.#text[from] === ' ') from += 1
    if (this.#text[from] !== QUOTE) return this.#plain()
    this.#at = from + 1
    const quoted = this.#quoted()
    // What follows a closing quote up to the delimiter belongs to the cell: nothing is dropped silently.
    return quoted + this.#plain().trim()
  }

  #plain(): string {
    const from = this.#at
    while (this.#at < this.#text.length && !this.#isEnd(this.#text[this.#at])) this.#at += 1
    return this.#text.slice(from, this.#at)
  }

  #isEnd(char: string | undefined): boolean {
    return char === this.#delimiter || char === '\n' || char === '\r'
  }

  #quoted(): string {
    let value = ''
    for (;;) {
      const end = this.#text.indexOf(QUOTE, this.#at)
      const part = this.#text.slice(this.#at, end === -1 ? undefined : end)
      this.#line += part.split('\n').length - 1
      this.#at = end === -1 ? this.#text.length : end + 1
      value += part
      if (this.#text[this.#at] !== QUOTE || end === -1) return value
      value += QUOTE
      this.#at += 1
    }
  }
}

function delimiterOf(text: string): string {
  const end = text.indexOf('\n')
  const header = end === -1 ? text : text.slice(0, end)
  const counts = DELIMITERS.map((delimiter) => header.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}
