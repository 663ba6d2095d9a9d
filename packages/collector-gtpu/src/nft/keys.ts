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
