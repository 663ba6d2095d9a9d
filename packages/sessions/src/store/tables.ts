import { defineTable, type Table, type TableSpec } from '@steeple/contracts'

/** A session as stored. Times are ms since the epoch. */
export interface SessionRow {
  /** Grows with each session that is first seen. */
  readonly id: number
  /** The truncated SHA-256 of the IMSI. */
  readonly imsi: string
  readonly apn: string
  readonly plmn: string | null
  readonly address: string | null
  readonly prefix: string | null
  readonly technology: string
  readonly cell: string | null
  readonly state: string
  /** 0 or 1. */
  readonly is_live: number
  /** Who saw it first. */
  readonly source: string
  readonly started_at_ms: number
  /** It may have had its address since then; not after `started_at_ms`. */
  readonly since_ms: number
  readonly ended_at_ms: number | null
  /** JSON: by source, octets up and down, and 1 where some may be missing. */
  readonly volumes: string
}

/** What one source calls a session, and what it last said of it. */
export interface LinkRow {
  readonly source: string
  readonly reference: string
  readonly session_id: number
  readonly is_live: number
  readonly state: string
  readonly technology: string
  readonly cell: string | null
  readonly started_at_ms: number | null
}

/** How far a counter of a source is counted. */
export interface CounterRow {
  readonly source: string
  readonly counter: string
  readonly generation: string
  readonly up_bytes: number
  readonly down_bytes: number
  readonly to_ms: number
}

/** Octets that wait for the session that they belong to. */
export interface HeldRow {
  readonly source: string
  /** JSON of a `VolumeKey`. */
  readonly whose: string
  readonly from_ms: number
  readonly to_ms: number
  readonly up_bytes: number
  readonly down_bytes: number
  readonly is_incomplete: number
  /** When they came, by this service's time. */
  readonly held_at_ms: number
}

/** How far a source is counted. */
export interface SourceRow {
  readonly source: string
  readonly position: string | null
  /** When its last collection was counted in which it could see all, by this service's time. */
  readonly at_ms: number
  /** The end of the last span that it has given, by its own clock. */
  readonly until_ms: number | null
}

/** One row: which round was counted last. */
export interface RoundRow {
  readonly id: number
  readonly round: number
  readonly next_session: number
}

/** Octets of a subscriber in an hour as one source saw them, and what of it counts. */
export interface LedgerRow {
  readonly imsi: string
  readonly hour_ms: number
  readonly source: string
  readonly up_bytes: number
  readonly down_bytes: number
  readonly counted_up: number
  readonly counted_down: number
  readonly is_incomplete: number
  readonly counted_incomplete: number
  /** 1 while the row has its spans. */
  readonly is_open: number
  /** JSON of its spans (ledger/spans.ts); null once the hour is closed. */
  readonly spans: string | null
}

export const SESSIONS: Table<SessionRow> = defineTable(
  'sessions_session',
  [
    'id',
    'imsi',
    'apn',
    'plmn',
    'address',
    'prefix',
    'technology',
    'cell',
    'state',
    'is_live',
    'source',
    'started_at_ms',
    'since_ms',
    'ended_at_ms',
    'volumes',
  ],
  ['id'],
)

export const LINKS: Table<LinkRow> = defineTable(
  'sessions_link',
  ['source', 'reference', 'session_id', 'is_live', 'state', 'technology', 'cell', 'started_at_ms'],
  ['source', 'reference'],
)

export const COUNTERS: Table<CounterRow> = defineTable(
  'sessions_counter',
  ['source', 'counter', 'generation', 'up_bytes', 'down_bytes', 'to_ms'],
  ['source', 'counter', 'generation'],
)

export const HELD: Table<HeldRow> = defineTable(
  'sessions_held',
  ['source', 'whose', 'from_ms', 'to_ms', 'up_bytes', 'down_bytes', 'is_incomplete', 'held_at_ms'],
  ['source', 'whose', 'from_ms', 'to_ms'],
)

export const SOURCES: Table<SourceRow> = defineTable(
  'sessions_source',
  ['source', 'position', 'at_ms', 'until_ms'],
  ['source'],
)

export const ROUND: Table<RoundRow> = defineTable('sessions_round', ['id', 'round', 'next_session'], ['id'])

export const LEDGER: Table<LedgerRow> = defineTable(
  'sessions_ledger',
  [
    'imsi',
    'hour_ms',
    'source',
    'up_bytes',
    'down_bytes',
    'counted_up',
    'counted_down',
    'is_incomplete',
    'counted_incomplete',
    'is_open',
    'spans',
  ],
  ['imsi', 'hour_ms', 'source'],
)

export const TABLES: readonly TableSpec[] = [SESSIONS, LINKS, COUNTERS, HELD, SOURCES, ROUND, LEDGER]
