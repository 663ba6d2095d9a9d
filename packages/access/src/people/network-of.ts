import { isIPv6 } from 'node:net'

/** The network of an address: one IPv4 address, or the /64 of an IPv6 address, which is what one subscriber has. */
export function networkOf(address: string): string {
  const [bare = ''] = address.split('%', 1)
  if (!isIPv6(bare)) return address
  // The URL parser writes every spelling of an address in one way. WHATWG URL §3.5.
  const text = new URL(`http://[${bare}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(text)
  if (mapped !== null)
    return ipv4From(Number.parseInt(mapped[1] ?? '', 16), Number.parseInt(mapped[2] ?? '', 16))
  const [head = '', tail] = text.split('::', 2)
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0')
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}

function ipv4From(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}
