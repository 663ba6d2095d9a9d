import { createHash } from 'node:crypto'
import { capacityExceeded } from '@steeple/contracts'

/** IPv4 network. */
interface Network {
  readonly base: number
  readonly prefix: number
}

/** The network's own address and the root's come before the first, the broadcast address after the last. */
const FIRST = 2

/** The overlay address of the root: the first one of the network. */
export function rootAddress(subnet: string): string {
  return textOf(networkFrom(subnet).base + 1)
}

/**
 * The overlay address of a node that has none yet: it follows from the node's id, and is the next one that is free where
 * somebody has that. So a root that has lost what it knew of a node (it was restored from an old backup) gives the same
 * address to that node, and another one to others; two ids meet in one address of 65,533 (prefix of 16 bits).
 *
 * `taken`: addresses that somebody has or had. Throws `capacity_exceeded` when nothing else is left.
 */
export function memberAddress(subnet: string, nodeId: string, taken: ReadonlySet<string>): string {
  const { base, prefix } = networkFrom(subnet)
  const count = 2 ** (32 - prefix) - 1 - FIRST
  const from = createHash('sha256').update(nodeId).digest().readUInt32BE(0)
  for (let step = 0; step < Math.min(count, taken.size + 1); step += 1) {
    const address = textOf(base + FIRST + ((from + step) % count))
    if (!taken.has(address)) return address
  }
  throw capacityExceeded(
    `${subnet} has no address left for another node; set peering.subnet to a network that no member has an address of`,
  )
}

function textOf(value: number): string {
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
