const HEX = Buffer.from('0123456789abcdef', 'ascii')
const COMMA = 0x2c
const NEWLINE = 0x0a

/** Writes octets as hexadecimal ASCII, without a string in between that nobody could zero. */
export function hexAscii(octets: Uint8Array): Uint8Array {
  const text = new Uint8Array(octets.length * 2)
  octets.forEach((octet, i) => {
    text[2 * i] = HEX[octet >> 4] ?? 0
    text[2 * i + 1] = HEX[octet & 15] ?? 0
  })
  return text
}

/** The octets of hexadecimal ASCII; undefined when it is none. */
export function octetsFromHex(text: Uint8Array): Uint8Array | undefined {
  if (text.length % 2 !== 0) return undefined
  const octets = new Uint8Array(text.length / 2)
  for (let i = 0; i < octets.length; i++) {
    const high = nibble(text[2 * i] ?? 0)
    const low = nibble(text[2 * i + 1] ?? 0)
    if (high < 0 || low < 0) return undefined
    octets[i] = high * 16 + low
  }
  return octets
}

function nibble(char: number): number {
  if (char >= 0x30 && char <= 0x39) return char - 0x30
  const lower = char | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** One line of comma-separated cells that need no quotes. */
export function csvLine(cells: readonly Uint8Array[]): Uint8Array {
  const length = cells.reduce((sum, cell) => sum + cell.length + 1, 0)
  const line = new Uint8Array(length)
  let at = 0
  for (const cell of cells) {
    line.set(cell, at)
    at += cell.length
    line[at] = COMMA
    at += 1
  }
  line[length - 1] = NEWLINE
  return line
}

/** ASCII octets of a text. */
export function ascii(text: string): Uint8Array {
  const octets = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) octets[i] = text.charCodeAt(i)
  return octets
}

/** Overwrites octets with zeroes. */
export function wipe(...all: readonly Uint8Array[]): void {
  for (const octets of all) octets.fill(0)
}
