import type { SessionSighting } from '@steeple/contracts'
import { isOpen, type Session } from './session.ts'
import type { SessionIndex } from './session-index.ts'

/** One round of collections as it is joined. */
export interface Round {
  readonly number: number
  readonly nowMs: number
  /** When each source answered last, this round included. */
  readonly answeredMs: ReadonlyMap<string, number>
  /** When a source answered before this round; undefined when it never did. */
  askedMs(source: string): number | undefined
  /** A source that has not answered for so long is silent, ms. */
  readonly silentMs: number
  /** Gives a new session its number. */
  nextId(): number
}

/** Sessions that begin and end in a round. */
export interface SessionChanges {
  readonly began: ReadonlySet<Session>
  readonly ended: ReadonlySet<Session>
  /** Sessions that are new here, or that have an address which they were not known to have. */
  readonly named: Set<Session>
  /** A session as a source saw it; others that held its address have ended. */
  begin(source: string, sighting: SessionSighting): Session
  /** It was taken for ended, and goes on. */
  reopen(session: Session): void
  end(session: Session, atMs: number): void
  /** Ends others of the same APN with one of its addresses: an address has one holder at a time. */
  takeOver(session: Session): void
}

/** No changes yet. */
export function sessionChanges(known: SessionIndex, round: Round): SessionChanges {
  const began = new Set<Session>()
  const ended = new Set<Session>()
  const named = new Set<Session>()
  const end = (session: Session, atMs: number): void => {
    session.state = 'ended'
    session.endedAtMs = Math.max(session.startedAtMs, Math.min(atMs, round.nowMs))
    session.isChanged = true
    ended.add(session)
  }
  const takeOver = (session: Session): void => {
    for (const address of [session.address, session.prefix]) {
      if (address === undefined) continue
      for (const other of known.holders(address))
        if (other !== session && isOpen(other) && other.apn === session.apn) end(other, session.startedAtMs)
    }
  }
  return {
    began,
    ended,
    named,
    end,
    takeOver,
    begin: (source, sighting) => {
      const session = sessionOf(source, sighting, round)
      known.add(session)
      began.add(session)
      named.add(session)
      if (isOpen(session)) takeOver(session)
      else ended.add(session)
      return session
    },
    reopen: (session) => {
      session.state = 'active'
      session.endedAtMs = undefined
      session.isChanged = true
      began.add(session)
      takeOver(session)
    },
  }
}

function sessionOf(source: string, sighting: SessionSighting, { nowMs, nextId, askedMs }: Round): Session {
  const startedAtMs = Math.max(0, Math.min(sighting.startedAtMs ?? nowMs, nowMs))
  return {
    id: nextId(),
    imsi: sighting.imsi,
    apn: sighting.apn,
    plmn: sighting.plmn,
    address: sighting.address,
    prefix: sighting.prefix,
    technology: sighting.technology,
    cell: sighting.cell,
    state: sighting.state,
    source,
    startedAtMs,
    sinceMs: sighting.startedAtMs === undefined ? Math.min(askedMs(source) ?? 0, startedAtMs) : startedAtMs,
    endedAtMs:
      sighting.state === 'ended' ? Math.max(startedAtMs, Math.min(sighting.seenAtMs, nowMs)) : undefined,
    volumes: new Map(),
    links: new Set(),
    isChanged: true,
    isMoved: false,
  }
}
