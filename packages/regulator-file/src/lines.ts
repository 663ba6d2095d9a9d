const QUOTE = 0x22
const COMMA = 0x2c
const CR = 0x0d
const LF = 0x0a

/** Longer than any line: what goes on for so long is no file of ours, and is not held. */
const LONGEST = 4 * 1_048_576

/** A text that is no RFC 4180; the message says where. */
export class NotCsv extends Error {}

/**
 * The lines of an RFC 4180 text with their CRLF, as octets. One line is held at a time. What is behind the last CRLF comes
 * at the end and has none. Rejects with `NotCsv`.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const scan = scanner()
  let held: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      if (!scan.isEnd(piece[at] ?? 0)) continue
      const line = piece.subarray(from, at + 1)
      yield held.length === 0 ? line : Buffer.concat([...held, line])
      held = []
      size = 0
      from = at + 1
    }
    if (from === piece.length) continue
    // A copy: the stream may use the memory again.
    held.push(Buffer.from(piece.subarray(from)))
    size += piece.length - from
    if (size > LONGEST) throw new NotCsv(`line ${scan.line()} is longer than ${LONGEST} octets`)
  }
  if (held.length > 0) yield Buffer.concat(held)
}

type Place = 'start' | 'plain' | 'quoted' | 'quote' | 'cr'
type Step = (octet: number) => Place

/** Follows the text octet by octet. */
function scanner(): { isEnd(octet: number): boolean; line(): number } {
  let place: Place = 'start'
  let line = 1
  const wrong = (what: string): NotCsv => new NotCsv(`line ${line} ${what}`)
  const outside: Step = (octet) => {
    if (octet === COMMA) return 'start'
    if (octet === CR) return 'cr'
    if (octet === LF) throw wrong('ends without a carriage return')
    return 'plain'
  }
  const steps: Readonly<Record<Place, Step>> = {
    start: (octet) => (octet === QUOTE ? 'quoted' : outside(octet)),
    plain: (octet) => {
      if (octet === QUOTE) throw wrong('has a quote in the middle of a cell')
      return outside(octet)
    },
    quoted: (octet) => (octet === QUOTE ? 'quote' : 'quoted'),
    quote: (octet) => {
      if (octet === QUOTE) return 'quoted'
      const after = outside(octet)
      if (after === 'plain') throw wrong('has something behind a closing quote')
      return after
    },
    cr: (octet) => {
      if (octet !== LF) throw wrong('has a carriage return in the middle')
      return 'start'
    },
  }
  return {
    isEnd: (octet) => {
      const wasCr = place === 'cr'
      place = steps[place](octet)
      if (wasCr) line += 1
      return wasCr
    },
    line: () => line,
  }
}
