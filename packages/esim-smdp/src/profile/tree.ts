/** One object of a profile: as it was read, or made anew. Never changed in place, so that a template serves many. */
export interface Piece {
  readonly tag: number
  /** Offset in the template; 0 of what was made anew. */
  readonly at: number
  /** The whole object as it was read or is settled; undefined when it is written from `value` or `parts`. */
  readonly raw: Uint8Array | undefined
  readonly value: Uint8Array
  /** Of a constructed object; undefined of a primitive one. */
  readonly parts: readonly Piece[] | undefined
}

const NOTHING = new Uint8Array(0)

/** A primitive object; `value` is kept as it is, not copied. */
export function leaf(tag: number, value: Uint8Array): Piece {
  return { tag, at: 0, raw: undefined, value, parts: undefined }
}

export function branch(tag: number, parts: readonly Piece[]): Piece {
  return { tag, at: 0, raw: undefined, value: NOTHING, parts }
}

/** The first part with that tag. */
export function partOf(piece: Piece | undefined, tag: number): Piece | undefined {
  return piece?.parts?.find((part) => part.tag === tag)
}

/** The part at the end of a path of tags. */
export function partAt(piece: Piece | undefined, ...tags: readonly number[]): Piece | undefined {
  return tags.reduce<Piece | undefined>(partOf, piece)
}

/** The same with each part of that tag changed; itself when none has it. */
export function withEach(piece: Piece, tag: number, change: (part: Piece) => Piece): Piece {
  const parts = piece.parts?.map((part) => (part.tag === tag ? change(part) : part)) ?? []
  return parts.every((part, i) => part === piece.parts?.[i]) ? piece : branch(piece.tag, parts)
}

/** The same with the first part of that tag instead, or put in where the order of tags wants it. */
export function withPart(piece: Piece, part: Piece): Piece {
  const parts = piece.parts ?? []
  const same = parts.findIndex(({ tag }) => tag === part.tag)
  if (same >= 0) return branch(piece.tag, parts.with(same, part))
  const next = parts.findIndex(({ tag }) => numberOf(tag) > numberOf(part.tag))
  return branch(piece.tag, parts.toSpliced(next < 0 ? parts.length : next, 0, part))
}

/** The same without the parts of those tags. */
export function without(piece: Piece, ...tags: readonly number[]): Piece {
  const kept = piece.parts?.filter(({ tag }) => !tags.includes(tag)) ?? []
  return kept.length === piece.parts?.length ? piece : branch(piece.tag, kept)
}

/** The same with the octets of each part at hand, so that whatever stays as it is in many profiles is written once. */
export function settled(piece: Piece): Piece {
  if (piece.raw !== undefined) return piece
  return { ...piece, raw: written([piece]), parts: piece.parts?.map(settled) }
}

/** Octets of all of them one after the other, in one new array: nothing of them is copied elsewhere. */
export function written(pieces: readonly Piece[]): Uint8Array {
  const lengths = new Map<Piece, number>()
  let length = 0
  for (const piece of pieces) length += measured(piece, lengths)
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) at = put(piece, whole, at, lengths)
  return whole
}

/** The number in a tag of one octet, whatever its class and form. X.690 §8.1.2. */
function numberOf(tag: number): number {
  return tag & 0x1f
}

function measured(piece: Piece, lengths: Map<Piece, number>): number {
  if (piece.raw !== undefined) return piece.raw.length
  let inside = piece.parts === undefined ? piece.value.length : 0
  for (const part of piece.parts ?? []) inside += measured(part, lengths)
  lengths.set(piece, inside)
  return headLength(piece.tag, inside) + inside
}

function put(piece: Piece, whole: Uint8Array, start: number, lengths: Map<Piece, number>): number {
  if (piece.raw !== undefined) {
    whole.set(piece.raw, start)
    return start + piece.raw.length
  }
  let at = putHead(whole, start, piece.tag, lengths.get(piece) ?? 0)
  if (piece.parts === undefined) {
    whole.set(piece.value, at)
    return at + piece.value.length
  }
  for (const part of piece.parts) at = put(part, whole, at, lengths)
  return at
}

/** Octets of tag and length in their shortest form. X.690 §8.1. */
export function headLength(tag: number, length: number): number {
  return octetCount(tag) + 1 + (length < 0x80 ? 0 : octetCount(length))
}

function putHead(whole: Uint8Array, start: number, tag: number, length: number): number {
  const at = putNumber(whole, start, tag, octetCount(tag))
  if (length < 0x80) return putNumber(whole, at, length, 1)
  const octets = octetCount(length)
  return putNumber(whole, putNumber(whole, at, 0x80 | octets, 1), length, octets)
}

function putNumber(whole: Uint8Array, start: number, value: number, octets: number): number {
  for (let i = 0; i < octets; i++) whole[start + i] = (value >>> (8 * (octets - 1 - i))) & 0xff
  return start + octets
}

function octetCount(value: number): number {
  if (value > 0xffff) return 3
  return value > 0xff ? 2 : 1
}
