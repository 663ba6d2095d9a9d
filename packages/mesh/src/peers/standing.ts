import type { Clock } from '@steeple/contracts'
import type { SeenPeer } from '../wireguard/dump.ts'

/** How long a handshake counts: after it a session's keys are no longer used. WireGuard, "Reject-After-Time". */
export const ACTIVE_S = 180

/** What a peer's link looks like. Contract section 9. */
export type PeerState = 'suggested' | 'pending' | 'active' | 'stale' | 'removed'

/** What was last seen of a peer. */
export interface Standing {
  /** Seconds since its last handshake; undefined before the first. */
  readonly handshakeAgeS: number | undefined
  readonly rxBytes: number
  readonly txBytes: number
  /** `host:port` where it was last seen. */
  readonly lastEndpoint: string | undefined
}

/** The standings of peers by public key. */
export interface Standings {
  /** Takes in what the interface says now. */
  see(peers: readonly SeenPeer[]): void
  of(publicKey: string): Standing | undefined
}

interface Seen {
  readonly handshakeAtS: number | undefined
  /** Age of the handshake at `seenAtMs` of the monotonic clock. */
  readonly ageMs: number
  readonly seenAtMs: number
  readonly peer: SeenPeer
}

const MS = 1_000

/**
 * Handshake ages by the clock that never goes back: the time of day is used once, for a handshake from before this
 * service's start. A wall clock that is a day off makes no peer stale.
 */
export function standings(clock: Clock): Standings {
  let seen: ReadonlyMap<string, Seen> = new Map()
  const look = (peer: SeenPeer): Seen => {
    const before = seen.get(peer.publicKey)
    const seenAtMs = clock.monotonicMs()
    const { handshakeAtS } = peer
    if (before !== undefined && before.handshakeAtS === handshakeAtS) return { ...before, peer }
    const isFirstLook = before === undefined
    // One that came while this service looked on is as old as the last look at most.
    const ageMs =
      isFirstLook && handshakeAtS !== undefined ? Math.max(0, clock.nowMs() - handshakeAtS * MS) : 0
    return { handshakeAtS, ageMs, seenAtMs, peer }
  }
  return {
    see: (peers) => {
      seen = new Map(peers.map((peer) => [peer.publicKey, look(peer)]))
    },
    of: (publicKey) => {
      const one = seen.get(publicKey)
      if (one === undefined) return undefined
      const ageMs = one.ageMs + clock.monotonicMs() - one.seenAtMs
      return {
        handshakeAgeS: one.handshakeAtS === undefined ? undefined : Math.floor(ageMs / MS),
        rxBytes: one.peer.rxBytes,
        txBytes: one.peer.txBytes,
        lastEndpoint: one.peer.endpoint,
      }
    },
  }
}

/** The state of a peer that is wanted and accepted. */
export function linkState(standing: Standing | undefined): 'pending' | 'active' | 'stale' {
  const age = standing?.handshakeAgeS
  if (age === undefined) return 'pending'
  return age < ACTIVE_S ? 'active' : 'stale'
}
