import { GTP_HEADER } from './keys.ts'

/** UDP and GTP-U header: what the length of a datagram has beyond that of its GTP-U packet (RFC 768, TS 29.281 §5.1). */
const LENGTHS_APART = 8 + GTP_HEADER
/** A datagram of less than 2,048 octets. */
export const IS_SHORT = '@th,32,16 & 0xf800 == 0'
/** Up to this length of a GTP-U packet one look is enough. */
const USUAL_LENGTH = 1_536
const USUAL = 'usual'

/**
 * Sets, by name, of pairs of lengths that agree: of the datagram, and of the GTP-U packet in it. Rules cannot subtract.
 * What agrees with none holds several packets that were put together on the way. `usual` has whole lengths, and is there
 * where `isExact`; the others have the lower octets of them, and the upper ones, with or without what is carried over.
 */
export function lengthSets(isExact: boolean): readonly (readonly [string, string])[] {
  const usual = [USUAL, pairs(0, USUAL_LENGTH, (length) => length + LENGTHS_APART)] as const
  return [
    ...(isExact ? [usual] : []),
    ['low', pairs(0, 256 - LENGTHS_APART, (low) => low + LENGTHS_APART)],
    ['high', pairs(0, 256, (high) => high)],
    ['low_over', pairs(256 - LENGTHS_APART, 256, (low) => low + LENGTHS_APART - 256)],
    ['high_over', pairs(0, 255, (high) => high + 1)],
  ]
}

function pairs(from: number, end: number, datagram: (packet: number) => number): string {
  return Array.from({ length: end - from }, (_, i) => `${datagram(from + i)} . ${from + i}`).join(', ')
}

/** The fields that such a set is of. */
export function lengthFields(name: string): string {
  if (name === USUAL) return '@th,32,16 . @th,80,16'
  return name.startsWith('low') ? '@th,40,8 . @th,88,8' : '@th,32,8 . @th,80,8'
}

/** That the lengths of a packet agree, by sets of a generation. */
export function agree(own: string, names: readonly string[]): string {
  return names.map((name) => `${lengthFields(name)} @${own}_${name}`).join(' ')
}
