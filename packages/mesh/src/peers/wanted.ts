import type { SeenInterface, SeenPeer } from '../wireguard/dump.ts'
import type { PeerChange } from '../wireguard/link-driver.ts'

/** A peer as the interface should have it. */
export interface WantedPeer {
  readonly publicKey: string
  /**
   * `none`, a digest (see `pskDigest`) of the one it has, or `latch`: some random one. With a latch no handshake of the
   * peer's succeeds, and that one was tried is seen: it has gone over to this key.
   */
  readonly psk:
    | { readonly kind: 'none' }
    | { readonly kind: 'latch' }
    | { readonly kind: 'digest'; readonly sha256: string }
  /** `host:port` with an address; undefined while none is known. */
  readonly endpoint: string | undefined
  /** Its link works: where it is now is known better from its packets. */
  readonly isActive: boolean
  /** 0: off. */
  readonly keepaliveS: number
  /** CIDR. */
  readonly allowedIps: readonly string[]
}

/** A change, without its secret. */
export type PlannedChange = Omit<PeerChange, 'presharedKey'> & { readonly psk: WantedPeer['psk'] | 'keep' }

/** What there is to do, and what is left alone. */
export interface PeerPlan {
  readonly changes: readonly PlannedChange[]
  /** Public keys. */
  readonly removed: readonly string[]
  /** Public keys of peers that somebody else has put on the interface. */
  readonly foreign: readonly string[]
}

/**
 * The difference between the peers that are wanted and those that the interface has.
 *
 * `isOurs` says of a public key that this service has made such a peer. Networks of somebody else's peer are left to it:
 * setting them here would take them away there without a word.
 */
export function planPeers(
  wanted: readonly WantedPeer[],
  seen: SeenInterface,
  isOurs: (publicKey: string) => boolean,
): PeerPlan {
  const present = new Map(seen.peers.map((peer) => [peer.publicKey, peer]))
  const keys = new Set(wanted.map(({ publicKey }) => publicKey))
  const others = seen.peers.filter(({ publicKey }) => !keys.has(publicKey))
  const foreign = others.filter(({ publicKey }) => !isOurs(publicKey))
  const taken = new Set(foreign.flatMap(({ allowedIps }) => allowedIps))
  return {
    changes: wanted.flatMap((peer) => {
      const allowedIps = peer.allowedIps.filter((cidr) => !taken.has(cidr))
      return changeOf({ ...peer, allowedIps }, present.get(peer.publicKey)) ?? []
    }),
    removed: others.filter(({ publicKey }) => isOurs(publicKey)).map(({ publicKey }) => publicKey),
    foreign: foreign.map(({ publicKey }) => publicKey),
  }
}

function changeOf(wanted: WantedPeer, seen: SeenPeer | undefined): PlannedChange | undefined {
  const { publicKey, psk, endpoint, keepaliveS, allowedIps } = wanted
  const base = { publicKey, keepaliveS, allowedIps }
  const whole = { ...base, psk, ...(endpoint === undefined ? {} : { endpoint }) }
  if (seen === undefined) return whole
  // A new secret means new handshakes, and none of the old waits for its time to try again.
  if (!hasPsk(seen, psk)) return { ...whole, isAnew: true }
  const isMoved = endpoint !== undefined && !wanted.isActive && seen.endpoint !== endpoint
  const isSame = !isMoved && (seen.keepaliveS ?? 0) === keepaliveS && isSameSet(seen.allowedIps, allowedIps)
  if (isSame) return undefined
  return { ...base, psk: 'keep', ...(isMoved ? { endpoint } : {}) }
}

function hasPsk({ pskSha256 }: SeenPeer, psk: WantedPeer['psk']): boolean {
  if (psk.kind === 'none') return pskSha256 === undefined
  return psk.kind === 'latch' ? pskSha256 !== undefined : pskSha256 === psk.sha256
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  const set = new Set(one)
  return set.size === new Set(other).size && other.every((item) => set.has(item))
}
