import { isIP, isIPv4 } from 'node:net'
import type { CoreEnds } from './g-pdu.ts'

/** Dotted form of a number of 32 bits, with or without a sign. */
export function ipv4From(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
}

/** The /64 whose upper 64 bits these are, in RFC 5952 form: `2001:db8:0:1::/64`. */
export function prefixFrom(high: number, low: number): string {
  const groups = [high >>> 16, high & 0xffff, low >>> 16, low & 0xffff]
  // The last four groups are zeros: the longest run, with what before it is zero too.
  while (groups.at(-1) === 0) groups.pop()
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

/** The core's ends from their addresses. Throws TypeError for what is none. */
export function coreEnds(addresses: readonly string[]): CoreEnds {
  const v4: number[] = []
  const others: string[] = []
  for (const address of addresses) {
    if (isIP(address) === 0) throw new TypeError(`${address} is no IP address`)
    if (isIPv4(address)) v4.push(address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) | 0)
    else others.push(hexOfIpv6(address))
  }
  return { v4, v6: new Map(others.map((address, i) => [address, v4.length + i])) }
}

/** 8 hexadecimal digits. */
export function hexOfIpv4(address: string): string {
  return address
    .split('.')
    .map((octet) => Number(octet).toString(16).padStart(2, '0'))
    .join('')
}

/** 32 hexadecimal digits. */
export function hexOfIpv6(address: string): string {
  // The URL's own form of a host has an embedded IPv4 address in hexadecimal and one run of zeros left out.
  const canonical = new URL(`http://[${address.split('%')[0] ?? ''}]/`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))
  const first = groups(head)
  const last = tail === undefined ? [] : groups(tail)
  const zeros = new Array<string>(8 - first.length - last.length).fill('0')
  return [...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join('')
}
