import type { Context } from '@steeple/contracts'
import type { TapSnapshot, TapStats } from './upf-tap.ts'

const PACKETS = ['received', 'dropped', 'malformed', 'unmatched', 'foreign', 'refused'] as const

/** What is exported of a tap. */
export interface TapMetrics {
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
