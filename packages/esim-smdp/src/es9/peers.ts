import { BlockList, isIP } from 'node:net'
import { networkOf, plainAddress } from '@steeple/contracts'

/** Calls that a network may make at once, and each second from then on: some hundred phones behind one address. */
const BURST = 400
const PER_SECOND = 20
/** Networks that are remembered; the one that was silent longest is forgotten. */
const MOST_PEERS = 10_000

export interface Peers {
  /** Whether that network may call now. Loopback always may. */
  admit(network: string, nowMs: number): boolean
}

export function createPeers(): Peers {
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  return {
    admit: (network, nowMs) => {
      if (network === '') return true
      const known = buckets.get(network)
      const passedS = known === undefined ? 0 : Math.max(0, nowMs - known.atMs) / 1_000
      const tokens = Math.min(BURST, (known?.tokens ?? BURST) + passedS * PER_SECOND)
      // Behind all others: the first in order is the one that was silent longest.
      buckets.delete(network)
      // A call that is refused costs nothing: else one who never stops calling keeps out all others behind its address.
      buckets.set(network, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs })
      for (const oldest of buckets.keys()) {
        if (buckets.size <= MOST_PEERS) break
        buckets.delete(oldest)
      }
      return tokens >= 1
    },
  }
}

/** The network of who calls; empty for loopback and what is no address. */
export function callersNetwork(address: string): string {
  const plain = plainAddress(address)
  const kind = isIP(plain)
  return kind === 0 || LOOPBACK.check(plain, kind === 4 ? 'ipv4' : 'ipv6') ? '' : networkOf(plain)
}

/** Addresses of a list of CIDRs; what is none is left out. */
export function blockList(cidrs: readonly string[]): BlockList {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    const kind = isIP(address)
    if (kind === 0) continue
    const width = kind === 4 ? 32 : 128
    const prefix = bits === undefined ? width : Number(bits)
    if (Number.isInteger(prefix) && prefix >= 0 && prefix <= width)
      list.addSubnet(address, prefix, kind === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/**
 * Who calls by the plain path: TLS must have ended before it, on this machine or at a proxy that the configuration names.
 * Gives the phone's network, or undefined for one who may not call by it. A proxy says who it speaks for in
 * `X-Forwarded-For`, whose last entry is the one that it has written itself; one that names nobody speaks for itself.
 */
export function plainCaller(
  peerAddress: string,
  forwardedFor: string | undefined,
  proxies: BlockList,
): string | undefined {
  const plain = plainAddress(peerAddress)
  const kind = isIP(plain)
  if (kind === 0) return undefined
  const family = kind === 4 ? 'ipv4' : 'ipv6'
  const isProxy = proxies.check(plain, family)
  if (!isProxy && !LOOPBACK.check(plain, family)) return undefined
  const last = addressOf(forwardedFor?.split(',').at(-1)?.trim() ?? '')
  return callersNetwork(isIP(plainAddress(last)) === 0 ? plain : last)
}

/** Some proxies write the port behind the address. */
function addressOf(text: string): string {
  const [, v6, v4] = /^(?:\[(.+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(text) ?? []
  return v6 ?? v4 ?? text
}

const LOOPBACK: BlockList = blockList(['127.0.0.0/8', '::1'])
