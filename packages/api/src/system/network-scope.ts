import ipaddr from 'ipaddr.js'

/** A list of networks, read once. */
export interface NetworkScope {
  /** Whether the address (as a socket gives it) lies in one of them. */
  has(address: string): boolean
}

/** Reads CIDR blocks and single addresses, of both families. Throws when one is neither. */
export function networkScope(blocks: readonly string[]): NetworkScope {
  const ranges = blocks.map((block) => rangeFrom(block))
  return {
    has: (address) => {
      if (!ipaddr.isValid(address)) return false
      // `process` takes an IPv4 client of a dual-stack socket (::ffff:10.0.0.1) for what it is.
      const client = ipaddr.process(address)
      return ranges.some(([network, bits]) => network.kind() === client.kind() && client.match(network, bits))
    },
  }
}

function rangeFrom(block: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (block.includes('/')) return ipaddr.parseCIDR(block)
  const address = ipaddr.parse(block)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}
