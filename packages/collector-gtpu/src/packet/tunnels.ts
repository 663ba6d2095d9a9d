import { emptyFrame, type Frame } from './g-pdu.ts'

export interface AddressOctets {
  /** Octets that went to the address of a frame, so far. */
  downTo(frame: Frame): number
  /** Counts what was kept back, for the address of a frame. */
  add(frame: Frame, atMs: number): boolean
}

/** One from which a phone has not sent its own address for so long may be another session's by now. */
export const HOLD_MS = 30_000
/** Tunnels, and addresses, that are known at once. The oldest go first, and are learnt again by their next packet. */
const MOST = 65_536

/** That a tunnel is an address's. */
interface Claim {
  readonly frame: Frame
  seenMs: number
  /** What the address had got before. */
  readonly downBefore: number
}

/** What one tunnel to the core has shown of one family of addresses. */
interface Tunnel {
  own: Claim
  /** Whose it was before. */
  former: Claim | undefined
  /** What was kept back of another's address that it sends as well. */
  readonly other: Frame
  otherPackets: number
}

/**
 * Learns whose a tunnel is, by family: it belongs to the address that it carried first. An address of which another
 * tunnel has shown that it is that one's is refused, when `own` has got something since: so it is a session's, and not what
 * a phone was left with by its last one. An address that no other tunnel carries is counted: a network behind the phone.
 *
 * A tunnel's number is given again when its session is over. So what is refused is kept back, and counted after all, when the
 * tunnel goes on with that address and `own` is not seen in it for `HOLD_MS`.
 * When `own` comes back in it after that, it was no other session.
 */
export class Tunnels {
  /** What was not its own up to now. */
  readonly refused: { packets: number; octets: number } = { packets: 0, octets: 0 }
  readonly #count: AddressOctets
  /** By end of the core, then by number: of IPv4, of IPv6. */
  readonly #v4: Map<number, Tunnel>[] = []
  readonly #v6: Map<number, Tunnel>[] = []
  /** The tunnel that an address was in last, or at first beside another that is its own. */
  readonly #holders = new Map<number | string, Tunnel>()

  constructor(count: AddressOctets) {
    this.#count = count
  }

  /**
   * Whether what a phone has sent may be its own; it is looked at as long as `frame` stays what it is. False: another phone's
   * address, which is not to be counted.
   */
  isOwn(frame: Frame, atMs: number): boolean {
    const { isIpv6, core, tunnel: number } = frame
    const ends = isIpv6 ? this.#v6 : this.#v4
    const known = ends[core]?.get(number)
    if (known !== undefined && isSame(known.own.frame, frame)) {
      known.own.seenMs = atMs
      // What it has sent beside it was another's.
      known.otherPackets = 0
      return true
    }
    // Addresses of a link tell nobody's session: a phone asks for its prefix by one.
    if (isIpv6 && (frame.high >>> 22 === LINK_LOCAL || frame.high === 0)) return true
    if (known !== undefined) return this.#isAllowed(known, frame, atMs)
    const tunnels = ends[core] ?? new Map<number, Tunnel>()
    ends[core] = tunnels
    const tunnel: Tunnel = {
      own: this.#claim(frame, atMs),
      former: undefined,
      other: emptyFrame(),
      otherPackets: 0,
    }
    setBounded(tunnels, number, tunnel)
    setBounded(this.#holders, keyOf(frame), tunnel)
    return true
  }

  #claim(frame: Frame, seenMs: number): Claim {
    return { frame: { ...frame }, seenMs, downBefore: this.#count.downTo(frame) }
  }

  /** Whether an address that is not the tunnel's own is nobody else's. */
  #isAllowed(tunnel: Tunnel, frame: Frame, atMs: number): boolean {
    const { own, former } = tunnel
    const key = keyOf(frame)
    const holder = this.#holders.get(key)
    if (holder === undefined) setBounded(this.#holders, key, tunnel)
    if (holder === undefined || holder === tunnel) {
      if (former !== undefined && isSame(former.frame, frame)) {
        tunnel.own = { ...former, seenMs: atMs }
        tunnel.former = undefined
      }
      return true
    }
    // Ahead of now it was seen by a clock that has been set back since.
    own.seenMs = Math.min(own.seenMs, atMs)
    if (atMs - own.seenMs > HOLD_MS) {
      this.#giveOver(tunnel, frame, atMs)
      return true
    }
    if (this.#count.downTo(own.frame) <= own.downBefore) return true
    this.#refuse(tunnel, frame)
    return false
  }

  #refuse(tunnel: Tunnel, frame: Frame): void {
    const { other } = tunnel
    if (tunnel.otherPackets === 0 || !isSame(other, frame)) {
      Object.assign(other, frame, { octets: 0 })
      tunnel.otherPackets = 0
    }
    other.octets += frame.octets
    tunnel.otherPackets += 1
    this.refused.packets += 1
    this.refused.octets += frame.octets
  }

  /** The tunnel is another session's by now: what was kept back of it counts. */
  #giveOver(tunnel: Tunnel, frame: Frame, atMs: number): void {
    const { own, other, otherPackets } = tunnel
    if (otherPackets > 0 && isSame(other, frame) && this.#count.add(other, atMs)) {
      this.refused.packets -= otherPackets
      this.refused.octets -= other.octets
    }
    tunnel.otherPackets = 0
    tunnel.former = own
    tunnel.own = this.#claim(frame, atMs)
  }
}

/** The upper ten bits of `fe80::/10`. RFC 4291 §2.5.6. */
const LINK_LOCAL = 0x3fa

function isSame(one: Frame, other: Frame): boolean {
  return one.high === other.high && one.low === other.low
}

/** Of an address of either family. */
function keyOf({ isIpv6, high, low }: Frame): number | string {
  return isIpv6 ? `${high} ${low}` : high
}

function setBounded<Key>(map: Map<Key, Tunnel>, key: Key, tunnel: Tunnel): void {
  if (map.size >= MOST && !map.has(key))
    for (const oldest of map.keys()) {
      map.delete(oldest)
      break
    }
  map.set(key, tunnel)
}
