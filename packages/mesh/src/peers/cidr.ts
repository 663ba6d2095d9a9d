import { isIP } from 'node:net'

/** An IP network. `bits` is the address as a number with everything behind the prefix zero. */
export interface Cidr {
  readonly version: 4 | 6
  readonly bits: bigint
  readonly prefix: number
}

const WIDTH = { 4: 32, 6: 128 } as const
const BYTE = 8n
const GROUP = 16n

/**
 * Reads `10.0.0.0/8` or `2001:db8::/32`. Undefined for anything else, also for bits behind the prefix, which mean that
 * somebody meant something else. RFC 4632 §3.1, RFC 4291 §2.3.
 */
export function parseCidr(text: string): Cidr | undefined {
  const [address = '', prefixText = '', ...rest] = text.split('/')
  const version = isIP(address)
  if ((version !== 4 && version !== 6) || rest.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(prefixText))
    return undefined
  // A zone is no part of a network.
  if (address.includes('%')) return undefined
  const prefix = Number(prefixText)
  if (prefix > WIDTH[version]) return undefined
  const bits = addressBits(address, version)
  return masked(bits, version, prefix) === bits ? { version, bits, prefix } : undefined
}

/** The network of one address alone. Undefined when the text is no address. */
export function hostCidr(address: string): Cidr | undefined {
  const version = isIP(address)
  if ((version !== 4 && version !== 6) || address.includes('%')) return undefined
  return { version, bits: addressBits(address, version), prefix: WIDTH[version] }
}

/** The network that an address with a prefix lies in, such as `192.0.2.7/24` of an interface. */
export function networkOf(text: string): Cidr | undefined {
  const [address = '', prefixText = ''] = text.split('/')
  const host = hostCidr(address)
  const prefix = Number(prefixText)
  if (host === undefined || prefixText === '' || !Number.isInteger(prefix)) return undefined
  if (prefix < 0 || prefix > WIDTH[host.version]) return undefined
  return { ...host, bits: masked(host.bits, host.version, prefix), prefix }
}

/** The one spelling by which networks are compared and stored: lower case, shortest form of IPv6 (RFC 5952 §4). */
export function cidrText({ version, bits, prefix }: Cidr): string {
  return `${version === 4 ? text4(bits) : text6(bits)}/${prefix}`
}

/** Whether an address lies in a network (CIDR). */
export function isIn(subnet: string, address: string): boolean {
  const [network, host] = [parseCidr(subnet), hostCidr(address)]
  return network !== undefined && host !== undefined && contains(network, host)
}

/** Whether two networks have an address in common. */
export function overlaps(one: Cidr, other: Cidr): boolean {
  if (one.version !== other.version) return false
  const prefix = Math.min(one.prefix, other.prefix)
  return masked(one.bits, one.version, prefix) === masked(other.bits, other.version, prefix)
}

/** Whether `outer` has every address of `inner`. */
export function contains(outer: Cidr, inner: Cidr): boolean {
  return outer.prefix <= inner.prefix && overlaps(outer, inner)
}

/** Whether it is everything: `0.0.0.0/0`, `::/0`. */
export function isDefault({ prefix }: Cidr): boolean {
  return prefix === 0
}

/** Whether it is one address alone. */
export function isHost({ version, prefix }: Cidr): boolean {
  return prefix === WIDTH[version]
}

/** The address of a network of one address, as text. */
export function addressText(cidr: Cidr): string {
  return cidrText(cidr).split('/')[0] ?? ''
}

function masked(bits: bigint, version: 4 | 6, prefix: number): bigint {
  const host = BigInt(WIDTH[version] - prefix)
  return (bits >> host) << host
}

function addressBits(address: string, version: 4 | 6): bigint {
  return version === 4 ? bits4(address) : bits6(address)
}

function bits4(address: string): bigint {
  return address.split('.').reduce((sum, part) => (sum << BYTE) | BigInt(part), 0n)
}

/** node has checked the syntax: at most one `::`, perhaps an IPv4 address at the end. RFC 4291 §2.2. */
function bits6(address: string): bigint {
  const dotted = /[^:]*\.[^:]*$/.exec(address)?.[0]
  const v4 = dotted === undefined ? 0n : bits4(dotted)
  const plain =
    dotted === undefined
      ? address
      : `${address.slice(0, -dotted.length)}${(v4 >> GROUP).toString(16)}:${(v4 & 0xffffn).toString(16)}`
  const [head = '', tail] = plain.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const middle = Array.from({ length: 8 - front.length - back.length }, () => '0')
  return [...front, ...middle, ...back].reduce((sum, part) => (sum << GROUP) | BigInt(`0x${part}`), 0n)
}

function text4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.')
}

/** The WHATWG URL parser writes IPv6 as RFC 5952 asks. */
function text6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((bits >> BigInt(16 * (7 - index))) & 0xffffn).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}
