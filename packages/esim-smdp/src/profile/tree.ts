import { lengthOctets } from '@steeple/sgp22'

/** One object of a profile: as it was read, or made anew. Never changed in place, so that a template serves many. */
export interface Piece {
  readonly tag: number
  /** Offset in the template; 0 of what was made anew. */
  readonly at: number
  /** The whole object as it was read; undefined when it is written from `value` or `parts`. */
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

/** A constructed object. */
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
  const parts = piece.parts ?? []
  const changed = parts.map((part) => (part.tag === tag ? change(part) : part))
  return changed.every((part, i) => part === parts[i]) ? piece : branch(piece.tag, changed)
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

/** Octets of all of them one after the other, in one new array: nothing of them is copied elsewhere. */
export function written(pieces: readonly Piece[]): Uint8Array {
  const lengths = new Map<Piece, number>()
  const length = pieces.reduce((sum, piece) => sum + measured(piece, lengths), 0)
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
  const inside = piece.parts?.reduce((sum, part) => sum + measured(part, lengths), 0) ?? piece.value.length
  lengths.set(piece, inside)
  return tagOctets(piece.tag).length + lengthOctets(inside).length + inside
}

function put(piece: Piece, whole: Uint8Array, start: number, lengths: Map<Piece, number>): number {
  if (piece.raw !== undefined) {
    whole.set(piece.raw, start)
    return start + piece.raw.length
  }
  const head = [...tagOctets(piece.tag), ...lengthOctets(lengths.get(piece) ?? 0)]
  whole.set(head, start)
  let at = start + head.length
  if (piece.parts === undefined) {
    whole.set(piece.value, at)
    return at + piece.value.length
  }
  for (const part of piece.parts) at = put(part, whole, at, lengths)
  return at
}

/** The octets of a tag as `Tlv` has it. */
export function tagOctets(tag: number): readonly number[] {
  if (tag > 0xffff) return [tag >> 16, (tag >> 8) & 0xff, tag & 0xff]
  return tag > 0xff ? [tag >> 8, tag & 0xff] : [tag]
}
