import { BlockList, isIP, isIPv4 } from 'node:net'

/** An address pool as the core counts it. */
export interface AddressRange {
  readonly family: 4 | 6
  readonly prefix: number
  /** Its network address, normalised; `text` is what was written. */
  readonly network: string
  readonly text: string
  /** The first address, which the UPF's TUN device has. */
  readonly gateway: string
  has(address: string): boolean
  /** Its first and last address as numbers. */
  readonly low: bigint
  readonly high: bigint
  /** The one of the same size behind it; undefined at the end of all addresses. */
  next(): AddressRange | undefined
  /** So many equal parts for sessions; in IPv6 each session gets a /64. */
  parts(count: number): RangeParts
}

/**
 * A range divided. Parts are aligned blocks of a power of two: the core counts up octet by octet without a carry, so it
 * would hand out addresses of its neighbours from any others. What is left over belongs to nobody.
 */
interface RangeParts {
  /** First and last address, or prefix, of each part as the core's `range` takes them. */
  readonly bounds: readonly { readonly low: string; readonly high: string }[]
  /** How many sessions fit into the smallest part: not network, gateway and last address. */
  readonly sessions: number
}

const IPV4_BITS = 32
const IPV6_BITS = 128
/** In IPv6 each session gets a prefix of that length. */
const SESSION_PREFIX = 64

/** The range in a text `10.45.0.0/16` or `2001:db8:cafe::/48`; undefined when it is none. */
export function parseRange(text: string): AddressRange | undefined {
  const [, address = '', digits = ''] = /^([0-9a-fA-F:.]{2,45})\/([0-9]{1,3})$/.exec(text) ?? []
  const family = isIP(address)
  if (family !== 4 && family !== 6) return undefined
  const bits = family === 4 ? IPV4_BITS : IPV6_BITS
  const prefix = Number(digits)
  if (prefix > bits) return undefined
  const width = BigInt(bits)
  const hostBits = width - BigInt(prefix)
  const first = (numberFrom(address, family) >> hostBits) << hostBits
  const list = new BlockList()
  const network = textFrom(first, family)
  list.addSubnet(network, prefix, family === 4 ? 'ipv4' : 'ipv6')
  const size = 1n << hostBits
  return {
    low: first,
    high: first + size - 1n,
    next: () =>
      first + size >= 1n << width ? undefined : parseRange(`${textFrom(first + size, family)}/${prefix}`),
    family,
    prefix,
    network,
    text,
    gateway: textFrom(first + 1n, family),
    has: (other) => isIP(other) === family && list.check(other, family === 4 ? 'ipv4' : 'ipv6'),
    parts: (count) => partsOf(first, family, prefix, count),
  }
}

function partsOf(first: bigint, family: 4 | 6, prefix: number, count: number): RangeParts {
  const bits = family === 4 ? IPV4_BITS : SESSION_PREFIX
  const sizeBits = bits - prefix - Math.ceil(Math.log2(count))
  if (sizeBits < 2) return { bounds: [], sessions: 0 }
  const size = 1n << BigInt(sizeBits)
  const step = family === 4 ? 1n : 1n << BigInt(IPV6_BITS - SESSION_PREFIX)
  const bounds = Array.from({ length: count }, (_, index) => {
    const low = first + BigInt(index) * size * step
    // The core stops before the address after `high`, which must not begin another octet.
    return { low: textFrom(low, family), high: textFrom(low + (size - 2n) * step, family) }
  })
  // In IPv6 network and gateway lie in one prefix.
  return { bounds, sessions: Number(size) - (family === 4 ? 3 : 2) }
}

/** A range as it is written, with its first address. */
export function rangeText({ network, prefix }: AddressRange): string {
  return `${network}/${prefix}`
}

/** An address as URL and `host:port` write it. */
export function hostText(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

function numberFrom(address: string, family: 4 | 6): bigint {
  const parts = family === 4 ? address.split('.').map(Number) : groupsOf(address)
  const width = family === 4 ? 8n : 16n
  return parts.reduce((sum, part) => (sum << width) | BigInt(part), 0n)
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.split('::')
  const front = groupsIn(head)
  const back = groupsIn(tail ?? '')
  const gap = tail === undefined ? 0 : 8 - front.length - back.length
  return [...front, ...Array.from({ length: gap }, () => 0), ...back]
}

function groupsIn(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!isIPv4(group)) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

function textFrom(value: bigint, family: 4 | 6): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 0xffn)).join('.')
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((value >> BigInt(16 * (7 - index))) & 0xffffn).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
