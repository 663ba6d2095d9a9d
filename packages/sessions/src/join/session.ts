import type { Technology } from '@steeple/contracts'
import type { SourceOrder } from '../ledger/counting.ts'
import type { LinkRow, SessionRow } from '../store/tables.ts'

/** Octets of a session as one source counted them. */
export interface SessionVolume {
  up: number
  down: number
  isIncomplete: boolean
}

/** One real session over all sources, while it is in memory. Times are ms since the epoch. */
export interface Session {
  readonly id: number
  readonly imsi: string
  readonly apn: string
  plmn: string | undefined
  address: string | undefined
  prefix: string | undefined
  technology: Technology
  cell: string | undefined
  state: 'active' | 'idle' | 'ended'
  readonly source: string
  startedAtMs: number
  /** It may have had its address since then: its start, or when its source was asked before and did not list it. */
  sinceMs: number
  endedAtMs: number | undefined
  readonly volumes: Map<string, SessionVolume>
  /** What sources call it, by source and reference. */
  readonly links: Set<Link>
  /** Differs from its row. */
  isChanged: boolean
}

/** What one source calls a session, and what it last said of it. */
export interface Link {
  readonly source: string
  readonly reference: string
  session: Session
  /** The source still lists it, as far as is known. */
  isLive: boolean
  state: 'active' | 'idle' | 'ended'
  technology: Technology
  cell: string | undefined
  startedAtMs: number | undefined
  /** When the source said that it had ended; undefined when it merely left it out. */
  endsAtMs: number | undefined
  /** The round in which the source named it last; 0 since the service started. */
  round: number
  isChanged: boolean
}

export function isOpen(session: Session): boolean {
  return session.state !== 'ended'
}

/** A session read from its row, without links. */
export function sessionFromRow(row: SessionRow): Session {
  return {
    id: row.id,
    imsi: row.imsi,
    apn: row.apn,
    plmn: row.plmn ?? undefined,
    address: row.address ?? undefined,
    prefix: row.prefix ?? undefined,
    // Written from a session alone.
    technology: row.technology as Technology,
    cell: row.cell ?? undefined,
    state: row.state as Session['state'],
    source: row.source,
    startedAtMs: row.started_at_ms,
    sinceMs: row.since_ms,
    endedAtMs: row.ended_at_ms ?? undefined,
    volumes: volumesFromText(row.volumes),
    links: new Set(),
    isChanged: false,
  }
}

export function rowFromSession(session: Session): SessionRow {
  return {
    id: session.id,
    imsi: session.imsi,
    apn: session.apn,
    plmn: session.plmn ?? null,
    address: session.address ?? null,
    prefix: session.prefix ?? null,
    technology: session.technology,
    cell: session.cell ?? null,
    state: session.state,
    is_live: isOpen(session) ? 1 : 0,
    source: session.source,
    started_at_ms: session.startedAtMs,
    since_ms: session.sinceMs,
    ended_at_ms: session.endedAtMs ?? null,
    volumes: textFromVolumes(session.volumes),
  }
}

/** A link read from its row; it belongs to `session` from now on. */
export function linkFromRow(row: LinkRow, session: Session): Link {
  const link: Link = {
    source: row.source,
    reference: row.reference,
    session,
    isLive: row.is_live === 1,
    // As above.
    state: row.state as Link['state'],
    technology: row.technology as Technology,
    cell: row.cell ?? undefined,
    startedAtMs: row.started_at_ms ?? undefined,
    endsAtMs: undefined,
    round: 0,
    isChanged: false,
  }
  session.links.add(link)
  return link
}

export function rowFromLink(link: Link): LinkRow {
  return {
    source: link.source,
    reference: link.reference,
    session_id: link.session.id,
    is_live: link.isLive ? 1 : 0,
    state: link.state,
    technology: link.technology,
    cell: link.cell ?? null,
    started_at_ms: link.startedAtMs ?? null,
  }
}

type StoredVolumes = Readonly<Record<string, readonly [number, number, number]>>

/** By source; written by `textFromVolumes`. */
export function volumesFromText(text: string): Map<string, SessionVolume> {
  const stored = JSON.parse(text) as StoredVolumes
  return new Map(
    Object.entries(stored).map(([source, [up, down, flag]]) => [
      source,
      { up, down, isIncomplete: flag === 1 },
    ]),
  )
}

function textFromVolumes(volumes: ReadonlyMap<string, SessionVolume>): string {
  const stored: Record<string, readonly [number, number, number]> = {}
  for (const [source, { up, down, isIncomplete }] of volumes)
    stored[source] = [up, down, isIncomplete ? 1 : 0]
  return JSON.stringify(stored)
}

/** The figures of the best source; of one that may have missed some, the larger ones of all. */
export function bestOf(volumes: ReadonlyMap<string, SessionVolume>, order: SourceOrder): SessionVolume {
  const sorted = [...volumes].sort(([one], [other]) => order(one, other)).map(([, volume]) => volume)
  const [best] = sorted
  if (best === undefined) return { up: 0, down: 0, isIncomplete: false }
  if (!best.isIncomplete) return best
  return {
    up: Math.max(...sorted.map(({ up }) => up)),
    down: Math.max(...sorted.map(({ down }) => down)),
    isIncomplete: sorted.every((each) => each.isIncomplete),
  }
}
