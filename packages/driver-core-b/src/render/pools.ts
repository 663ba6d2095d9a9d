import { type AddressRange, parseRange } from '@steeple/southbound'

const IPV4_BITS = 32
/** Of each pool: network, the UPF's own address and broadcast are no phone's. */
const NOT_FOR_PHONES = 3

/** The range in a text such as `10.60.0.0/15`; undefined when it is none. */
export function parseIpv4Range(text: string): AddressRange | undefined {
  const range = parseRange(text)
  return range?.family === 4 ? range : undefined
}

/** The prefix of each of so many equal parts of a range; beyond 32 where they do not fit. */
export function partPrefix(range: AddressRange, count: number): number {
  return range.prefix + Math.ceil(Math.log2(Math.max(1, count)))
}

/**
 * A range cut into equal parts, one for each pool in their order.
 *
 * The SMF refuses pools that overlap. The number of parts is a power of two, so a further pool moves the others only
 * when it does not fit any more.
 */
export function partsOf(range: AddressRange, count: number): readonly AddressRange[] {
  const parts: AddressRange[] = []
  let part = parseRange(`${range.network}/${partPrefix(range, count)}`)
  for (; part !== undefined && parts.length < count; part = part.next()) parts.push(part)
  return parts
}

/** How many phones find an address in a range of that prefix; 0 when there is no such range. */
export function phonesIn(prefix: number): number {
  return Math.max(0, Math.floor(2 ** (IPV4_BITS - prefix)) - NOT_FOR_PHONES)
}

/** The longest prefix in which that many phones find an address. */
export function prefixFor(phones: number): number {
  return IPV4_BITS - Math.ceil(Math.log2(phones + NOT_FOR_PHONES))
}
