import type { LabClock } from '../clock.ts'
import type { Session } from '../smf/sessions.ts'
import { type Direction, gpdu, type Interface } from './frame.ts'
import { type Ends, ipv4Packet, ipv6Packet, LEAST_IPV4, LEAST_IPV6 } from './inner-packet.ts'
import type { GtpuPath } from './path.ts'

/** Octets of inner packets, and packets, that one phone has moved since the lab core began. */
interface Moved {
  readonly upBytes: number
  readonly downBytes: number
  readonly upPackets: number
  readonly downPackets: number
}

/** A phone as traffic needs it. */
interface Mover {
  readonly imsi: string
  readonly phone: {
    /** Brings it back from idle; false when it is not attached. */
    serviceRequest(): boolean
    /** Something went over the air: it stays connected. */
    moved(): void
  }
}

export interface Traffic {
  /**
   * Moves octets of inner packets through the session that it has now; resolves when they are through or it is gone. False
   * when it has none.
   */
  move(mover: Mover, octets: Octets, how: How): Promise<boolean>
  /** Has a phone move so many bit/s each way whenever it is attached, until told otherwise. 0 and 0: nothing. */
  keep(mover: Mover, rates: Readonly<Record<Direction, number>>, on: Interface): void
  kept(imsi: string): Readonly<Record<Direction, number>>
  moved(imsi: string): Moved
}

/** Octets of inner packets each way. A packet has 28 of them at least (48 of IPv6): fewer count as that. */
export type Octets = Readonly<Record<Direction, number>>

/** How they go. `bitsPerSecond`: each way; undefined for as fast as it goes. */
export interface How {
  readonly bitsPerSecond: number | undefined
  readonly on: Interface
}

export interface TrafficOptions {
  readonly path: GtpuPath
  readonly clock: LabClock
  /** The session that a phone can use at this moment; undefined while it has none or is not connected. */
  readonly bearerOf: (imsi: string) => Session | undefined
  readonly stop: AbortSignal
}

/** Hosts of the internet for documentation. RFC 5737, RFC 3849. */
const HOST_IPV4 = '198.51.100.1'
const HOST_IPV6 = '2001:db8:ffff::1'
/** Octets of a usual full packet: what is left of 1,500 after the tunnel. */
const FULL = 1_400
/** Of a phone with both kinds of address one packet in so many is IPv6. */
const IPV6_IN = 10
/** What is due at a rate is sent no more often than this, ms. */
const STEP_MS = 50
/** No timer is set for longer, ms. */
const LONGEST_MS = 60_000
/** What could not be sent in time is made up for as far as this, ms. */
const CREDIT_MS = 1_000
const DIRECTIONS: readonly Direction[] = ['up', 'down']
const NOTHING = { up: 0, down: 0 } as const

interface Counts {
  readonly bytes: Record<Direction, number>
  readonly packets: Record<Direction, number>
}

export function makeTraffic(options: TrafficOptions): Traffic {
  const { clock, bearerOf, stop } = options
  const kept = new Map<string, { readonly rates: Octets; readonly end: AbortController }>()
  const { drain, countsOf } = makeSender(options)

  const paced = async (stream: Stream, all: number, bitsPerSecond: number): Promise<void> => {
    const pace = makePace(clock, bitsPerSecond)
    for (let left = all; left > 0; ) {
      // Whole packets only, except for the last one.
      const due = Math.min(left, await pace.due(Math.min(left, FULL), stop))
      if (!(await drain(stream, due))) return
      left -= due
    }
  }
  const keepOne = async (mover: Mover, direction: Direction, bitsPerSecond: number, keeping: Keeping) => {
    const pace = makePace(clock, bitsPerSecond)
    for (let stream: Stream | undefined; ; ) {
      const due = await pace.due(FULL, keeping.signal)
      if (!mover.phone.serviceRequest()) continue
      const session = bearerOf(mover.imsi)
      if (session === undefined) continue
      if (stream?.session !== session)
        stream = { mover, session, direction, on: keeping.on, frames: new Map() }
      await drain(stream, due)
    }
  }
  return {
    move: async (mover, octets, { bitsPerSecond, on }) => {
      const session = mover.phone.serviceRequest() ? bearerOf(mover.imsi) : undefined
      if (session === undefined) return false
      const streams = DIRECTIONS.filter((direction) => octets[direction] > 0).map(async (direction) => {
        const stream: Stream = { mover, session, direction, on, frames: new Map() }
        if (bitsPerSecond === undefined) await drain(stream, octets[direction])
        else await paced(stream, octets[direction], bitsPerSecond).catch(unlessStopped(stop))
      })
      await Promise.all(streams)
      return true
    },
    keep: (mover, rates, on) => {
      kept.get(mover.imsi)?.end.abort()
      kept.delete(mover.imsi)
      const asked = DIRECTIONS.filter((direction) => rates[direction] > 0)
      if (asked.length === 0) return
      const end = new AbortController()
      const signal = AbortSignal.any([end.signal, stop])
      kept.set(mover.imsi, { rates, end })
      for (const direction of asked)
        void keepOne(mover, direction, rates[direction], { on, signal }).catch(unlessStopped(signal))
    },
    kept: (imsi) => kept.get(imsi)?.rates ?? NOTHING,
    moved: (imsi) => {
      const { bytes, packets } = countsOf(imsi)
      return { upBytes: bytes.up, downBytes: bytes.down, upPackets: packets.up, downPackets: packets.down }
    },
  }
}

/** Sends through sessions, and counts what went out. */
function makeSender({ path, bearerOf }: TrafficOptions) {
  const counted = new Map<string, Counts>()
  const countsOf = (imsi: string): Counts => {
    const counts = counted.get(imsi) ?? { bytes: { up: 0, down: 0 }, packets: { up: 0, down: 0 } }
    counted.set(imsi, counts)
    return counts
  }
  return {
    countsOf,
    /** Sends until so many octets are through; false when the session went, or could not be used any more, before that. */
    drain: async (stream: Stream, all: number): Promise<boolean> => {
      const { mover, session, direction } = stream
      const counts = countsOf(mover.imsi)
      const isThere = (): boolean => bearerOf(mover.imsi) === session
      for (let left = all; left > 0; ) {
        const octets = nextLength(left, leastOf(session))
        const frame = frameOf(stream, octets, counts.packets[direction])
        if (!(await path.send(direction, frame, isThere))) return false
        counts.bytes[direction] += octets
        counts.packets[direction] += 1
        session[direction === 'up' ? 'upBytes' : 'downBytes'] += octets
        mover.phone.moved()
        left -= octets
      }
      return true
    },
  }
}

interface Keeping {
  readonly on: Interface
  readonly signal: AbortSignal
}

interface Stream {
  readonly mover: Mover
  readonly session: Session
  readonly direction: Direction
  readonly on: Interface
  /** Frames of this stream by family and length: those of one kind are alike. */
  readonly frames: Map<string, Buffer>
}

/** What fails because of having been told to stop is no failure. */
function unlessStopped(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

/** Says how many octets are due at a rate. */
function makePace(clock: LabClock, bitsPerSecond: number) {
  const perMs = bitsPerSecond / 8 / 1000
  let credit = 0
  let atUs = clock.nowUs()
  const earn = (): void => {
    const nowUs = clock.nowUs()
    credit = Math.min(credit + ((nowUs - atUs) / 1000) * perMs, Math.max(perMs * CREDIT_MS, FULL))
    atUs = nowUs
  }
  return {
    /** Waits until at least `least` octets are due; how many are then, in whole packets where that is more. */
    due: async (least: number, signal: AbortSignal): Promise<number> => {
      do {
        const ms = Math.ceil((least - credit) / perMs)
        await clock.sleep(Math.min(Math.max(STEP_MS, ms), LONGEST_MS), signal)
        earn()
      } while (credit < least)
      const due = credit < FULL ? least : Math.floor(credit / FULL) * FULL
      credit -= due
      return due
    },
  }
}

function leastOf({ lease }: Session): number {
  return lease.ipv4 === undefined ? LEAST_IPV6 : LEAST_IPV4
}

/** The length of the next packet, so that what is left after it is none or a whole packet. */
function nextLength(left: number, least: number): number {
  if (left <= FULL) return Math.max(left, least)
  return left - FULL < least ? left - least : FULL
}

function frameOf({ session, direction, on, frames }: Stream, octets: number, number: number): Buffer {
  const { ipv4, ipv6 } = session.lease
  const isSix =
    ipv6 !== undefined && octets >= LEAST_IPV6 && (ipv4 === undefined || number % IPV6_IN === IPV6_IN - 1)
  const key = `${isSix} ${octets}`
  const held = frames.get(key)
  if (held !== undefined) return held
  const packet = isSix
    ? ipv6Packet(endsOf(ipv6, HOST_IPV6, direction), octets)
    : ipv4Packet(endsOf(ipv4 ?? '', HOST_IPV4, direction), octets)
  const frame = gpdu(packet, session.teid, direction, on)
  frames.set(key, frame)
  return frame
}

function endsOf(phone: string, host: string, direction: Direction): Ends {
  return direction === 'up' ? { from: phone, to: host } : { from: host, to: phone }
}
