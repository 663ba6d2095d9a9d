import { isIPv4 } from 'node:net'

/** A range of IPv4 addresses. */
export interface Ipv4Range {
  readonly first: number
  readonly prefix: number
}

const IPV4_BITS = 32
/** Of each pool: network, the UPF's own address and broadcast are no phone's. */
const NOT_FOR_PHONES = 3

/** The range in a text such as `10.60.0.0/15`, its first address normalised; undefined when it is none. */
export function parseIpv4Range(text: string): Ipv4Range | undefined {
  const [, address = '', digits = ''] = /^([0-9.]{7,15})\/([0-9]{1,2})$/.exec(text) ?? []
  const prefix = Number(digits)
  if (!isIPv4(address) || digits === '' || prefix > IPV4_BITS) return undefined
  const size = 2 ** (IPV4_BITS - prefix)
  return { first: Math.floor(numberOf(address) / size) * size, prefix }
}

/** A range as it is written. */
export function ipv4RangeText({ first, prefix }: Ipv4Range): string {
  const octets = [2 ** 24, 2 ** 16, 2 ** 8, 1].map((unit) => Math.floor(first / unit) % 256)
  return `${octets.join('.')}/${prefix}`
}

/** Whether an address lies in a range. */
export function isInRange({ first, prefix }: Ipv4Range, address: string): boolean {
  if (!isIPv4(address)) return false
  const offset = numberOf(address) - first
  return offset >= 0 && offset < 2 ** (IPV4_BITS - prefix)
}

/**
 * A range cut into equal parts, one for each pool in their order.
 *
 * The SMF refuses pools that overlap. The number of parts is a power of two, so a further pool moves the others only
 * when it does not fit any more.
 */
export function partsOf(range: Ipv4Range, count: number): readonly Ipv4Range[] {
  const prefix = range.prefix + Math.ceil(Math.log2(Math.max(1, count)))
  const size = 2 ** (IPV4_BITS - prefix)
  return Array.from({ length: count }, (_, index) => ({ first: range.first + index * size, prefix }))
}

/** How many phones find an address in a range of that prefix; 0 when there is no such range. */
export function phonesIn(prefix: number): number {
  return Math.max(0, Math.floor(2 ** (IPV4_BITS - prefix)) - NOT_FOR_PHONES)
}

/** The longest prefix in which that many phones find an address. */
export function prefixFor(phones: number): number {
  return IPV4_BITS - Math.ceil(Math.log2(phones + NOT_FOR_PHONES))
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0)
}
