/** One BER-TLV object of a text that stays as it was received: signatures are over octets, never over what was parsed. */
export interface Tlv {
  /** As written, one to three octets: `0x30`, `0x5f37`, `0xbf38`. */
  readonly tag: number
  /** The whole object: tag, length and value; a view. */
  readonly raw: Uint8Array
  /** Its value; a view. */
  readonly value: Uint8Array
  /** Where it begins in the text that was read. */
  readonly at: number
  /** The objects in the value of a constructed one. Read when asked for. Throws `TlvError`. */
  children(): readonly Tlv[]
}

/** A text that is no TLV. `at` is the offset of the object that is wrong in the text that was read. */
export class TlvError extends Error {
  readonly at: number
  readonly what: string

  constructor(at: number, what: string) {
    super(`offset ${at}: ${what}`)
    this.name = 'TlvError'
    this.at = at
    this.what = what
  }
}

/** No object that SGP.22 or an interoperable profile holds is nested deeper. */
export const MAX_DEPTH = 32

/** The one object that `text` is. Throws `TlvError` for a rest behind it. X.690 §8.1. */
export function readOne(text: Uint8Array): Tlv {
  const [first, second] = readAll(text)
  if (first === undefined) throw new TlvError(0, 'is empty')
  if (second !== undefined) throw new TlvError(second.at, 'something stands behind the object')
  return first
}

/** The objects that `text` is made of, in order. Throws `TlvError`. */
export function readAll(text: Uint8Array, base = 0, depth = 0): readonly Tlv[] {
  if (depth > MAX_DEPTH) throw new TlvError(base, `is nested deeper than ${MAX_DEPTH}`)
  const found: Tlv[] = []
  for (let at = 0; at < text.length; ) {
    const tlv = readAt(text, at, base, depth)
    found.push(tlv)
    at += tlv.raw.length
  }
  return found
}

/** The first child with that tag; undefined when there is none. */
export function child(tlv: Tlv, tag: number): Tlv | undefined {
  return tlv.children().find((one) => one.tag === tag)
}

/** An object with its shortest length (DER). `parts` are its value. */
export function tlv(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const head = [...octetsOf(tag), ...lengthOctets(length)]
  const whole = new Uint8Array(head.length + length)
  whole.set(head)
  let at = head.length
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The octets of a length. X.690 §8.1.3, shortest form. */
export function lengthOctets(length: number): readonly number[] {
  return length < 0x80 ? [length] : [0x80 | octetsOf(length).length, ...octetsOf(length)]
}

function octetsOf(value: number): readonly number[] {
  const octets: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256)
  return octets.length === 0 ? [0] : octets
}

function readAt(text: Uint8Array, start: number, base: number, depth: number): Tlv {
  const { tag, next } = readTag(text, start, base)
  const { length, at } = readLength(text, next, base + start, base)
  if (at + length > text.length)
    throw new TlvError(base + start, `says ${length} octets, and ${text.length - at} are there`)
  const value = text.subarray(at, at + length)
  return {
    tag,
    raw: text.subarray(start, at + length),
    value,
    at: base + start,
    children: () => readAll(value, base + at, depth + 1),
  }
}

function readTag(text: Uint8Array, start: number, base: number): { tag: number; next: number } {
  let tag = octetAt(text, start, base)
  let next = start + 1
  if ((tag & 0x1f) !== 0x1f) return { tag, next }
  for (;;) {
    if (next - start > 2) throw new TlvError(base + start, 'has a tag of more than three octets')
    const octet = octetAt(text, next++, base)
    tag = tag * 256 + octet
    if (octet < 0x80) return { tag, next }
  }
}

function readLength(
  text: Uint8Array,
  start: number,
  object: number,
  base: number,
): { length: number; at: number } {
  const first = octetAt(text, start, base)
  if (first < 0x80) return { length: first, at: start + 1 }
  const octets = first & 0x7f
  if (octets === 0 || octets > 3) throw new TlvError(object, 'has a length of no use here')
  let length = 0
  for (let i = 1; i <= octets; i++) length = length * 256 + octetAt(text, start + i, base)
  return { length, at: start + 1 + octets }
}

function octetAt(text: Uint8Array, at: number, base: number): number {
  const octet = text[at]
  if (octet === undefined) throw new TlvError(base + at, 'ends in the middle of an object')
  return octet
}
