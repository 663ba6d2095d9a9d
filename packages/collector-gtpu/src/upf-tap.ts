import { eachPaced } from '@steeple/contracts'

/** All of them as a list. Others get their turns meanwhile: a sender that forges addresses makes the list as long as it can be. */
export async function listed<T>(items: Iterable<T>): Promise<readonly T[]> {
  const list: T[] = []
  await eachPaced(items, (item) => list.push(item))
  return list
}

/** Octets of one address since its counter's generation began. */
export interface TapCounter {
  /** IPv4 in dotted form, or an IPv6 prefix `…/64`. */
  readonly address: string
  readonly upBytes: number
  readonly downBytes: number
  /** First and last packet where the tap knows (a capture): ms since the epoch. */
  readonly firstMs?: number
  readonly lastMs?: number
}

export interface TapSnapshot {
  /** Counters of another generation have begun from 0. */
  readonly generation: string
  /** It was there before this tap: one of a service before it has begun it. */
  readonly isOlder: boolean
  /** When the generation began, ms since the epoch. */
  readonly sinceMs: number
  readonly atMs: number
  readonly counters: readonly TapCounter[]
  /** Nothing will be added any more to this generation: once this reading is counted it may go. */
  readonly isFinal: boolean
  /** Packets of this generation that were not counted though they may have been a phone's. */
  readonly lost: number
  /** What the interface had carried when the generation began, and when it was read (or ended): packets. */
  readonly began: number
  readonly carried: number
}

/** What a tap has done since the generation began that it has read last. Numbers of packets. */
export interface TapStats {
  /** G-PDUs that it looked at. */
  readonly received: number
  /** Not looked at: there was no room for them. */
  readonly dropped: number
  /** Said to be G-PDUs, and cannot be read. */
  readonly malformed: number
  /** Of a phone, and not counted: fragments, headers that cannot be followed, no room for another address. */
  readonly unmatched: number
  /** No end of the tunnel is the core's. */
  readonly foreign: number
  /** Sent into the tunnel, and not counted: another phone's address; what the UPF did not let out, for that or its rate. */
  readonly refused: number
  /** Octets of those, where they were seen: in the tunnel of a phone that has another address. */
  readonly refusedBytes: number
  /** Of the interface, while nothing looked: a bound. */
  readonly missed: number
}

export const NO_PACKETS: TapStats = {
  received: 0,
  dropped: 0,
  malformed: 0,
  unmatched: 0,
  foreign: 0,
  refused: 0,
  refusedBytes: 0,
  missed: 0,
}

/** How a tap does, for the health. */
export interface TapState {
  readonly status: 'ok' | 'degraded' | 'down'
  readonly detail: string
}

/** Something that counts the octets of phones on GTP-U. */
export interface UpfTap {
  /**
   * What the counters read. `counted`: a generation whose final reading has been counted; the tap may forget it. While
   * there is a final reading that is not counted, that one is given.
   */
  snapshot(counted: string | undefined, signal: AbortSignal): Promise<TapSnapshot>
  stats(): TapStats
  state(): TapState
  /** Lets go of processes and files. `keep`: what is counted goes on, or stays readable, for the next tap. */
  close(keep: boolean): Promise<void>
}
