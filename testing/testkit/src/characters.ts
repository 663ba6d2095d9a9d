/** The place of U+10FFFF: surrogates are no characters and have none. */
export const LAST_CHARACTER: number = 0x10ffff - 0x800

/** Surrogates stand between these two. RFC 3629 §3 */
const BEFORE_SURROGATES = 0xd7ff
const SURROGATES = 0x800

/**
 * The character of Unicode at a place from 0 to `LAST_CHARACTER`.
 *
 * `fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) })` draws what
 * `fc.string({ unit: 'binary' })` does, and does not begin by filing each of a million characters: that takes a second.
 */
export function characterAt(place: number): string {
  return String.fromCodePoint(place > BEFORE_SURROGATES ? place + SURROGATES : place)
}

/** Where a character is; what is no single one is a thrown error. The way back of `characterAt`, for shrinking. */
export function placeOfCharacter(text: unknown): number {
  if (typeof text !== 'string' || !text.isWellFormed()) throw new Error('no character')
  const [first, ...more] = text
  const code = first?.codePointAt(0)
  if (code === undefined || more.length > 0) throw new Error('not one character')
  return code > BEFORE_SURROGATES ? code - SURROGATES : code
}
