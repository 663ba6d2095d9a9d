import type { Metrics, Reader } from '@steeple/contracts'
import type { Tally } from './count/tally.ts'
import type { Joined } from './join/join-round.ts'
import { isOpen } from './join/session.ts'
import type { SessionIndex } from './join/session-index.ts'
import type { HeldRow } from './store/tables.ts'

export interface SessionMetrics {
  joined(joined: Joined, known: SessionIndex): void
  tallied(tally: Tally, held: Iterable<HeldRow>): void
  lost(source: string, packets: number): void
  /** Counts sessions in the store: what an instance does that takes no rounds. */
  recount(reader: Reader): Promise<void>
}

/** Pairs of APN and network that have a series of their own; what a core makes up beyond is one. */
const MOST_PAIRS = 200
const OTHER = 'other'

/** Registers the series; the APNs of the network `home` have theirs before anybody is online. */
export function sessionMetrics(
  metrics: Metrics,
  home: { readonly plmn: string; readonly apns: readonly string[] },
): SessionMetrics {
  const active = metrics.gauge('svc_sessions_active', 'Sessions now.', ['apn', 'plmn'])
  const changes = metrics.counter('svc_sessions_changes_total', 'Sessions that began and ended.', ['change'])
  const octets = metrics.counter('svc_sessions_bytes_total', 'Bytes counted for subscribers, by source.', [
    'source',
    'direction',
  ])
  const lostOctets = metrics.counter(
    'svc_sessions_unattributed_bytes_total',
    'Bytes of addresses without a known holder, by source.',
    ['source', 'direction'],
  )
  const held = metrics.gauge('svc_sessions_held_bytes', 'Bytes that wait until their session is seen.')
  const refused = metrics.counter(
    'svc_sessions_refused_volumes_total',
    'Volumes that were not counted, by reason.',
    ['source', 'reason'],
  )
  const lost = metrics.counter('svc_sessions_lost_packets_total', 'Packets that sources report as missed.', [
    'source',
  ])
  const pairs = new Map<string, { readonly apn: string; readonly plmn: string }>(
    home.apns.map((apn) => [`${apn} ${home.plmn}`, { apn, plmn: home.plmn }]),
  )
  let hasOthers = false
  const set = (counts: ReadonlyMap<string, Pair>): void => {
    for (const [key, { apn, plmn }] of counts) if (pairs.size < MOST_PAIRS) pairs.set(key, { apn, plmn })
    let others = 0
    for (const [key, { sessions }] of counts) if (!pairs.has(key)) others += sessions
    for (const [key, labels] of pairs) active.set(counts.get(key)?.sessions ?? 0, labels)
    hasOthers ||= others > 0
    if (hasOthers) active.set(others, { apn: OTHER, plmn: OTHER })
  }
  return {
    joined: ({ began, ended }, known) => {
      if (began.length > 0) changes.inc({ change: 'begin' }, began.length)
      if (ended.length > 0) changes.inc({ change: 'end' }, ended.length)
      set(countsOf(known))
    },
    tallied: (tally, waiting) => {
      for (const [source, shares] of Map.groupBy(tally.shares, (share) => share.source)) {
        octets.inc({ source, direction: 'up' }, total(shares.map(({ upBytes }) => upBytes)))
        octets.inc({ source, direction: 'down' }, total(shares.map(({ downBytes }) => downBytes)))
      }
      const lostRows = [...tally.lost, ...tally.overflow.values()]
      for (const [source, rows] of Map.groupBy(lostRows, (row) => row.source)) {
        lostOctets.inc({ source, direction: 'up' }, total(rows.map((row) => row.up_bytes)))
        lostOctets.inc({ source, direction: 'down' }, total(rows.map((row) => row.down_bytes)))
      }
      for (const { source, why } of tally.refused) refused.inc({ source, reason: why })
      let waits = 0
      for (const { up_bytes, down_bytes } of waiting) waits += up_bytes + down_bytes
      held.set(waits)
    },
    lost: (source, packets) => lost.inc({ source }, packets),
    recount: async (reader) => {
      const rows = await reader.all<Pair & { readonly plmn: string | null }>(COUNT)
      set(new Map(rows.map(({ apn, plmn, sessions }) => pairOf(apn, plmn ?? '', sessions))))
    },
  }
}

function total(octets: readonly number[]): number {
  return octets.reduce((all, each) => all + each, 0)
}

interface Pair {
  readonly apn: string
  readonly plmn: string
  readonly sessions: number
}

const COUNT =
  'select apn, plmn, count(*) as sessions from sessions_session where is_live = 1 group by apn, plmn'

function pairOf(apn: string, plmn: string, sessions: number): readonly [string, Pair] {
  return [`${apn} ${plmn}`, { apn, plmn, sessions: Number(sessions) }]
}

function countsOf(known: SessionIndex): ReadonlyMap<string, Pair> {
  const counts = new Map<string, { apn: string; plmn: string; sessions: number }>()
  for (const session of known.sessions.values()) {
    if (!isOpen(session)) continue
    const [key, pair] = pairOf(session.apn, session.plmn ?? '', 0)
    const there = counts.get(key)
    if (there === undefined) counts.set(key, { ...pair, sessions: 1 })
    else there.sessions += 1
  }
  return counts
}
