import { ends, type Family, type Hook, hooksOf, type TapPlace, type Way } from './place.ts'

/** The longest GTP-U header that is followed, in octets: extensions of 28 octets. */
export const LONGEST_HEADER = 40
export const GTP_HEADER = 8
export const GTP_LONG_HEADER = 12
/** Every length that is followed: extensions are multiples of four octets. */
export const HEADERS: readonly number[] = Array.from(
  { length: (LONGEST_HEADER - GTP_HEADER) / 4 + 1 },
  (_, index) => GTP_HEADER + index * 4,
)
/** Octets before the GTP-U header that a counter counts: IP and UDP; at egress Ethernet too. */
const BEFORE = { ip: 28, ip6: 48 } as const
export const ETHERNET = 14
/** On the UPF's TUN interface a packet is the phone's own. */
export const NOTHING = 0

/**
 * What a set counts: of phones up and down; and by its sender what leaves the core for one phone with the address of another
 * (`peer`), and what of that the kernel has sent into the UPF (`back`): the rest the UPF has handed on by itself.
 */
export type Counted = Way | 'peer' | 'back'

/** One set for each number of octets that its packets have before the inner one. */
export interface SetKey {
  readonly way: Counted
  readonly inner: 4 | 6
  readonly before: number
}

/** Its name, without that of its generation. */
export function setName({ way, inner, before }: SetKey): string {
  return `${way}${inner}_${before}`
}

/** Of the packets that found no counter, each length by itself. */
export function lateName({ way, inner }: Pick<SetKey, 'way' | 'inner'>): string {
  return `${way}${inner}_late`
}

const WAYS: readonly Counted[] = ['up', 'down', 'peer', 'back']

/** What the name of a set with its generation says; `before` is undefined of one whose elements say it. Undefined for another name. */
export function setFrom(
  name: string,
): { readonly way: Counted; readonly inner: 4 | 6; readonly before: number | undefined } | undefined {
  const found = /^g\d+_(up|down|peer|back)([46])_(\d+|late)$/.exec(name)
  if (found === null) return undefined
  const [, way, inner, before] = found
  return {
    way: WAYS.find((one) => one === way) ?? 'up',
    inner: inner === '6' ? 6 : 4,
    before: before === 'late' ? undefined : Number(before),
  }
}

/** The sets that the packets of a place need. */
export function setsOf(place: TapPlace): readonly SetKey[] {
  const families = (['ip', 'ip6'] as const).filter((family) => ends(place, family).length > 0)
  const tunnel = hooksOf(place.iface).flatMap((hook) =>
    families.flatMap((family) => HEADERS.map((header) => octetsBefore(hook, family, header))),
  )
  const of = (way: Counted, before: readonly number[]): readonly SetKey[] =>
    [...new Set(before)].flatMap((octets) =>
      ([4, 6] as const).map((inner) => ({ way, inner, before: octets })),
    )
  const up = of('up', place.inside.length === 0 ? tunnel : [NOTHING])
  if (place.pools.length === 0) return [...up, ...of('down', tunnel)]
  // In this order: of what comes by both, `back` is read later and is the more.
  return [...up, ...of('down', tunnel), ...of('peer', tunnel), ...of('back', [NOTHING, ETHERNET])]
}

/** What a counter counts of a packet before the inner one. */
export function octetsBefore(hook: Hook, family: Family, header: number): number {
  return BEFORE[family] + header + (hook === 'egress' ? ETHERNET : 0)
}

/** Where an octet of the GTP-U header is, in bits from the UDP header. */
export function gtpBit(octet: number): number {
  return 64 + octet * 8
}

/** The fields that say whose a packet is: of IPv6 the upper 64 bits, what a phone has of its own (RFC 6459 §5.2). */
export function phoneFields(way: Way, header: number, inner: 4 | 6): string {
  const at = gtpBit(header)
  if (inner === 4) return `@th,${at + (way === 'up' ? 96 : 128)},32`
  const high = at + (way === 'up' ? 64 : 192)
  return `@th,${high},32 . @th,${high + 32},32`
}

/** The same of a packet that has left the tunnel: its sender. */
export function senderFields(inner: 4 | 6): string {
  return inner === 4 ? '@nh,96,32' : '@nh,64,32 . @nh,96,32'
}

/** The type of a set that has them as its key. */
export function keyType(inner: 4 | 6): string {
  return inner === 4 ? 'type ipv4_addr' : `typeof ${phoneFields('up', GTP_HEADER, inner)}`
}

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
