import { BlockList, isIP, isIPv4 } from 'node:net'

/** What an address is to whatever sends where a configuration says. */
export type Reach = 'public' | 'private' | 'forbidden'

/**
 * Addresses that nobody is sent to, whatever the configuration allows: link-local (RFC 3927, RFC 4291 §2.5.6), where clouds
 * keep metadata and credentials; the other addresses of metadata services; this network, multicast, reserved and broadcast
 * (RFC 6890); those of tunnels that hide another address (6to4 RFC 3056, Teredo RFC 4380, local-use NAT64 RFC 8215).
 */
const FORBIDDEN: readonly string[] = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24', // 192.0.0.192 is Oracle's metadata service
  '192.88.99.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '100.100.100.200/32', // Alibaba's metadata service
  '168.63.129.16/32', // Azure's
  '::/128',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/32',
  '2002::/16',
  'fd00:ec2::254/128', // Amazon's
  'fd20:ce::254/128', // Google's
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

/** Addresses of this machine and of networks that are not the internet (RFC 1918, RFC 4193, RFC 6598, RFC 2544, RFC 5737, RFC 3849, RFC 9637). */
const PRIVATE: readonly string[] = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '::1/128',
  '2001:db8::/32',
  '3fff::/20',
  'fc00::/7',
]

/** Global unicast addresses (IANA, "IPv6 Global Unicast Address Space"). */
const GLOBAL: readonly string[] = ['2000::/3']

const forbidden = listOf(FORBIDDEN)
const privates = listOf(PRIVATE)
const globals = listOf(GLOBAL)

/** What may be connected to. One that is no address is forbidden; one that holds an IPv4 address is what that is. */
export function reachOf(address: string): Reach {
  const plain = address.includes('%') ? '' : unwrapped(address)
  const family = isIP(plain) === 4 ? 'ipv4' : 'ipv6'
  if (isIP(plain) === 0 || forbidden.check(plain, family)) return 'forbidden'
  if (privates.check(plain, family)) return 'private'
  // Of IPv6 nothing else is handed out (RFC 4291 §2.4, IANA).
  return family === 'ipv6' && !globals.check(plain, family) ? 'forbidden' : 'public'
}

/** The IPv4 address in one that is mapped (RFC 4291 §2.5.5.2), compatible (§2.5.5.1) or translated (RFC 6052 §2.1, RFC 2765 §2.1). */
function unwrapped(address: string): string {
  if (isIP(address) !== 6) return address
  const groups = groupsOf(address)
  const isMapped = groups.slice(0, 5).every((one) => one === 0) && (groups[5] === 0xffff || groups[5] === 0)
  const isStateless = groups.slice(0, 4).every((one) => one === 0) && groups[4] === 0xffff && groups[5] === 0
  const isTranslated =
    groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((one) => one === 0)
  const [high = 0, low = 0] = groups.slice(6)
  // ::, ::1 are addresses of their own.
  if ((!isMapped && !isTranslated && !isStateless) || (high === 0 && low <= 1)) return address
  return dotted(high, low)
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** An address in one form whatever a socket says: without a zone, and the IPv4 address in one that is mapped (RFC 4291 §2.5.5.2). */
export function plainAddress(address: string): string {
  const [bare = ''] = address.split('%', 1)
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : address
  const groups = groupsOf(bare)
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((one) => one === 0)
  return isMapped ? dotted(groups[6] ?? 0, groups[7] ?? 0) : bare
}

/** A list of networks, read once. */
export interface NetworkScope {
  /** Whether the address (as a socket gives it) lies in one of them. */
  has(address: string): boolean
}

/** Reads CIDR blocks and single addresses, of both families. Throws when one is neither. */
export function networkScope(blocks: readonly string[]): NetworkScope {
  const list = listOf(blocks)
  return {
    has: (address) => {
      const plain = plainAddress(address)
      return isIP(plain) !== 0 && list.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6')
    },
  }
}

/** The network of an address, for what counts those who call: one IPv4 address, or the /64 of IPv6, which is what one subscriber has. */
export function networkOf(address: string): string {
  const plain = plainAddress(address)
  if (isIP(plain) !== 6) return plain
  const groups = groupsOf(plain).slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const tail = /(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  const text = tail === null ? address : `${tail[1]}${hexOf(tail[2] ?? '')}`
  const [left = '', right] = text.split('::')
  const head = numbersOf(left)
  const end = right === undefined ? [] : numbersOf(right)
  return [...head, ...new Array<number>(8 - head.length - end.length).fill(0), ...end]
}

function numbersOf(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

function hexOf(ipv4: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number)
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [net = '', bits] = range.split('/')
    const width = isIPv4(net) ? 32 : 128
    list.addSubnet(net, bits === undefined ? width : Number(bits), width === 32 ? 'ipv4' : 'ipv6')
  }
  return list
}

/** RFC 1035 §2.3.4. */
const MOST_CHARS = 63

/**
 * The name by which a node of that name is found on its own network, `mast-on-the-hill.local` (RFC 6762 §3): letters and digits
 * of ASCII, all else a hyphen. Undefined for a name that has neither. Two names may have the same one.
 */
export function localHostName(name: string): string | undefined {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const words = plain.split(/[^a-z0-9]+/).filter((word) => word !== '')
  const label = words.join('-').slice(0, MOST_CHARS).replace(/-$/, '')
  return label === '' || label === 'localhost' ? undefined : `${label}.local`
}
