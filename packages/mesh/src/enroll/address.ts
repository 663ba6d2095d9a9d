import { capacityExceeded } from '@steeple/contracts'

/** IPv4 network. */
interface Network {
  readonly base: number
  readonly prefix: number
}

/**
 * The overlay address of the node with that number: the number counted from the network's own address, which is none's.
 * Throws `capacity_exceeded` when the network ends before it.
 */
export function overlayAddress(subnet: string, number: number): string {
  const { base, prefix } = networkFrom(subnet)
  // The last one is the broadcast address.
  if (number >= 2 ** (32 - prefix) - 1)
    throw capacityExceeded(
      `${subnet} has no address left for another node; set peering.subnet to a network that no member has an address of`,
    )
  const value = base + number
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.')
}

function networkFrom(subnet: string): Network {
  const [address = '', bits = '32'] = subnet.split('/')
  const prefix = Number(bits)
  const size = 2 ** (32 - prefix)
  return { base: Math.floor(numberOf(address) / size) * size, prefix }
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0)
}
