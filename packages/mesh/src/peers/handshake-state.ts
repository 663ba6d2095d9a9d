import type { Clock } from '@steeple/contracts'
import type { SeenPeer } from '../wireguard/dump.ts'

/** How long a handshake counts: after it a session's keys are no longer used. WireGuard, "Reject-After-Time". */
export const ACTIVE_S = 180

/** What a peer's link looks like. Contract section 9. */
export type PeerState = 'suggested' | 'pending' | 'active' | 'stale' | 'removed'

/** What was last seen of a peer. */
export interface HandshakeState {
  /** Seconds since its last handshake; undefined before the first. */
  readonly handshakeAgeS: number | undefined
  readonly rxBytes: number
  readonly txBytes: number
  /** `host:port` where it was last seen. */
  readonly lastEndpoint: string | undefined
}

/** The standings of peers by public key. */
export interface HandshakeStates {
  /** Takes in what the interface says now. */
  see(peers: readonly SeenPeer[]): void
  of(publicKey: string): HandshakeState | undefined
  /** Whether it is stale by the time of day alone, which may have been set since its handshake. */
  isDoubtful(publicKey: string): boolean
  /** It was asked by an echo. One that answered has a session that counts. */
  asked(publicKey: string, hasAnswered: boolean): void
}

interface LastHandshake {
  readonly handshakeAtS: number | undefined
  /** Age of the handshake at `seenAtMs` of the monotonic clock. */
  readonly ageMs: number
  readonly seenAtMs: number
  /** How often an echo may still be asked whether the age, which is by the time of day, is true; 0: it is. */
  readonly asksLeft: number
  readonly peer: SeenPeer
}

const MS = 1_000
/** Echoes to one whose age is in doubt: one may be lost. */
const ASKS = 3

/**
 * Handshake ages by the clock that never goes back: the time of day is used once, for a handshake from before this
 * service's start. A wall clock that is a day off makes no peer stale; one that was set between a handshake and the start
 * does, until the peer answers or shakes hands again.
 */
export function handshakeStates(clock: Clock): HandshakeStates {
  let seen: ReadonlyMap<string, LastHandshake> = new Map()
  const look = (peer: SeenPeer): LastHandshake => {
    const before = seen.get(peer.publicKey)
    const seenAtMs = clock.monotonicMs()
    const { handshakeAtS } = peer
    if (before !== undefined && before.handshakeAtS === handshakeAtS) return { ...before, peer }
    const isFirstLook = before === undefined
    // One that came while this service looked on is as old as the last look at most.
    const ageMs =
      isFirstLook && handshakeAtS !== undefined ? Math.max(0, clock.nowMs() - handshakeAtS * MS) : 0
    return { handshakeAtS, ageMs, seenAtMs, asksLeft: isFirstLook ? ASKS : 0, peer }
  }
  const ageMsOf = ({ ageMs, seenAtMs }: LastHandshake): number => ageMs + clock.monotonicMs() - seenAtMs
  return {
    see: (peers) => {
      seen = new Map(peers.map((peer) => [peer.publicKey, look(peer)]))
    },
    of: (publicKey) => {
      const one = seen.get(publicKey)
      if (one === undefined) return undefined
      return {
        handshakeAgeS: one.handshakeAtS === undefined ? undefined : Math.floor(ageMsOf(one) / MS),
        rxBytes: one.peer.rxBytes,
        txBytes: one.peer.txBytes,
        lastEndpoint: one.peer.endpoint,
      }
    },
    isDoubtful: (publicKey) => {
      const one = seen.get(publicKey)
      if (one?.handshakeAtS === undefined) return false
      return one.asksLeft > 0 && ageMsOf(one) >= ACTIVE_S * MS
    },
    asked: (publicKey, hasAnswered) => {
      const one = seen.get(publicKey)
      if (one === undefined) return
      const now = hasAnswered
        ? { ...one, ageMs: 0, seenAtMs: clock.monotonicMs(), asksLeft: 0 }
        : { ...one, asksLeft: one.asksLeft - 1 }
      seen = new Map([...seen, [publicKey, now]])
    },
  }
}

/** The state of a peer that is wanted and accepted. */
export function linkState(handshakeState: HandshakeState | undefined): 'pending' | 'active' | 'stale' {
  const age = handshakeState?.handshakeAgeS
  if (age === undefined) return 'pending'
  return age < ACTIVE_S ? 'active' : 'stale'
}
