import {
  type Clock,
  type Collection,
  type Collector,
  type Context,
  eachPaced,
  jsonIn,
  type Volume,
} from '@steeple/contracts'
import type { TapSnapshot, TapStats, UpfTap } from './upf-tap.ts'

const PACKETS = ['received', 'dropped', 'malformed', 'unmatched', 'foreign', 'refused'] as const

/** What is exported of a tap. */
interface TapMetrics {
  /** A reading, and what the tap has seen in its generation. */
  seen(reading: Pick<TapSnapshot, 'generation' | 'counters'>, stats: TapStats): void
}

export function tapMetrics({ metrics }: Pick<Context, 'metrics'>): TapMetrics {
  const packets = metrics.counter(
    'svc_collector_gtpu_packets_total',
    "G-PDUs, by result: received, dropped (before the tap saw them), malformed, unmatched (for a phone, but it cannot be followed). Further results: foreign (no end of the tunnel is the core's), refused (address of another phone, or stopped by the UPF).",
    ['result'],
  )
  const missed = metrics.counter(
    'svc_collector_gtpu_lost_packets_total',
    'Packets that the interface carried while nothing counted. An upper bound.',
  )
  const refusedBytes = metrics.counter(
    'svc_collector_gtpu_refused_bytes_total',
    'Bytes that phones sent from addresses of other phones; they are not counted as usage (drivers pcap and file).',
  )
  const addresses = metrics.gauge(
    'svc_collector_gtpu_addresses',
    'Addresses of phones for which the tap has a counter.',
  )
  let last: { readonly generation: string; readonly stats: TapStats } | undefined
  for (const result of PACKETS) packets.inc({ result }, 0)
  missed.inc({}, 0)
  refusedBytes.inc({}, 0)
  return {
    seen: ({ generation, counters }, stats) => {
      // Another generation has begun from 0.
      const before = last?.generation === generation ? last.stats : undefined
      for (const result of PACKETS)
        packets.inc({ result }, Math.max(0, stats[result] - (before?.[result] ?? 0)))
      missed.inc({}, Math.max(0, stats.missed - (before?.missed ?? 0)))
      refusedBytes.inc({}, Math.max(0, stats.refusedBytes - (before?.refusedBytes ?? 0)))
      addresses.set(counters.length)
      last = { generation, stats }
    },
  }
}

/** What is kept with the volumes that were counted. */
interface Position {
  readonly generation: string
  /** The generation was counted to its end. */
  readonly isFinal: boolean
  /** As its snapshot says. */
  readonly lost: number
  readonly carried: number
  readonly atMs: number
  /** What it read had been counted for others: an installation before this one has left it. */
  readonly isBeginning: boolean
}

/** The name by which what this collector sees is known. */
const SOURCE = 'gtpu'

/** Says what a tap has counted: by address, as totals of counters with a generation. `read` is told of each reading. */
export function tapCollector(
  tap: UpfTap,
  clock: Clock,
  read: (snapshot: TapSnapshot) => void = () => undefined,
): Collector {
  return {
    source: SOURCE,
    poll: async (text, signal) => {
      signal.throwIfAborted()
      const position = positionFrom(text)
      const counted = position?.isFinal === true ? position.generation : undefined
      const snapshot = await tap.snapshot(counted, signal)
      read(snapshot)
      return await collectionOf(snapshot, position, isLeft(snapshot, text, position), clock)
    },
    health: () => tap.state(),
  }
}

async function collectionOf(
  snapshot: TapSnapshot,
  position: Position | undefined,
  isBeginning: boolean,
  clock: Clock,
): Promise<Collection> {
  const { generation, isFinal, carried, counters } = snapshot
  const lost = isBeginning ? 0 : lostSince(snapshot, position)
  // A table that somebody took away, a machine that was restarted: what was counted after the last look is not known.
  const isTorn = position !== undefined && !position.isFinal && position.generation !== generation
  const marked = isBeginning ? { isBeginning } : {}
  const isIncomplete = lost > 0 || isTorn
  const volumes: Volume[] = []
  // Of a generation that was read before, whatever is new has moved since: a phone that comes after days has not moved for days.
  const readMs = position?.generation === generation ? position.atMs : 0
  // A clock that was far ahead and is right again: both may be of then.
  const sinceMs = Math.min(snapshot.atMs, Math.max(snapshot.sinceMs, readMs))
  await eachPaced(counters, ({ address, upBytes, downBytes, firstMs, lastMs }) => {
    volumes.push({
      key: { by: 'address', address },
      upBytes,
      downBytes,
      fromMs: Math.floor(firstMs ?? sinceMs),
      toMs: Math.ceil(lastMs ?? snapshot.atMs),
      count: { counter: address, generation, ...marked },
      isIncomplete,
    })
  })
  // Its final reading was counted, and the tap has taken it away since.
  const over =
    position?.isFinal === true && position.generation !== generation ? position.generation : undefined
  const { lost: lostSoFar, atMs } = snapshot
  const next: Position = { generation, isFinal, lost: lostSoFar, carried, atMs, isBeginning }
  return {
    sightings: [],
    isWhole: false,
    volumes,
    position: JSON.stringify(next),
    lost:
      lost === 0
        ? undefined
        : {
            packets: lost,
            fromMs: Math.min(position?.atMs ?? snapshot.sinceMs, snapshot.atMs),
            toMs: clock.nowMs(),
          },
    ...(over === undefined ? {} : { over }),
  }
}

/**
 * Whether a service that is gone has left what is read: nothing of it was ever counted, and this tap has not begun it. Where that
 * had ended one generation, the next is its work, too.
 */
function isLeft({ isOlder }: TapSnapshot, text: string | undefined, position: Position | undefined): boolean {
  return isOlder && (text === undefined || (position?.isBeginning === true && position.isFinal))
}

/** Packets that may have been a phone's and were not counted since the position. */
function lostSince({ generation, lost, began }: TapSnapshot, position: Position | undefined): number {
  if (position === undefined) return lost
  if (position.generation === generation) return Math.max(0, lost - position.lost)
  // What the interface carried between the two generations; one that came anew began from 0.
  return lost + (began >= position.carried ? began - position.carried : began)
}

/** A position that this collector has given; undefined for anything else: then all that is there counts. */
function positionFrom(text: string | undefined): Position | undefined {
  // It was written below, and kept as it was.
  const found: Partial<Position> = Object(jsonIn(text ?? ''))
  const { generation, isFinal, lost, carried, atMs, isBeginning } = found
  if (generation === undefined || lost === undefined || carried === undefined || atMs === undefined)
    return undefined
  return { generation, isFinal: isFinal === true, lost, carried, atMs, isBeginning: isBeginning === true }
}
