import type { Reader } from '@steeple/contracts'
import { isDisputed } from './join/join-round.ts'
import { linkFromRow, type Session, sessionFromRow } from './join/session.ts'
import { SessionIndex } from './join/session-index.ts'
import { rowsIn } from './store/bulk.ts'
import {
  COUNTERS,
  type CounterRow,
  HELD,
  type HeldRow,
  LINKS,
  type LinkRow,
  ROUND,
  type RoundRow,
  SESSIONS,
  type SessionRow,
  SOURCES,
  type SourceRow,
} from './store/tables.ts'

/** What a round needs of the store, kept from one to the next. Thrown away when a round fails. */
export interface Memory {
  readonly known: SessionIndex
  readonly sources: Map<string, SourceRow>
  readonly counters: Map<string, CounterRow>
  readonly held: Map<string, HeldRow>
  /** As stored; another one in the store: something else has written. */
  round: RoundRow
  /** Sessions that ended before are in the store alone. */
  sinceMs: number
}

const FIRST_ROUND: RoundRow = { id: 1, round: 0, next_session: 1 }
/** Sessions that have ended stay in memory for so long: late volumes mostly belong to them. */
const ENDED_KEPT_MS = 60 * 60_000
/** Counters in memory; those beyond are read again when they come. */
const MOST_COUNTERS = 200_000

/** The round that the store has counted last. */
export async function storedRound(reader: Reader): Promise<RoundRow> {
  return (await ROUND.find(reader, { id: FIRST_ROUND.id })) ?? FIRST_ROUND
}

/** Reads what a round needs. Throws `store_corrupt`. */
export async function readMemory(reader: Reader, round: RoundRow, nowMs: number): Promise<Memory> {
  const known = new SessionIndex()
  const sinceMs = nowMs - ENDED_KEPT_MS
  const rows = await SESSIONS.select(reader, 'where is_live = 1')
  const late = await SESSIONS.select(reader, 'where ended_at_ms > :since', { since: sinceMs })
  const byId = new Map<number, Session>()
  for (const row of [...rows, ...late]) if (!byId.has(row.id)) byId.set(row.id, rememberedSession(known, row))
  // Those that a source still lists, of whatever session, and those of the sessions that are here.
  const live = await LINKS.select(reader, 'where is_live = 1')
  const others = await rowsIn(reader, LINKS, 'session_id', [...byId.keys()], 'and is_live = 0')
  await rememberLinks(reader, known, [...live, ...others])
  known.disputed = [...known.sessions.values()].filter(isDisputed)
  const sources = await SOURCES.select(reader, '')
  const held = await HELD.select(reader, '')
  return {
    known,
    sources: new Map(sources.map((row) => [row.source, row])),
    counters: new Map(),
    held: new Map(held.map((row) => [heldKey(row), row])),
    round,
    sinceMs,
  }
}

/** The session of a row, in memory; the one that is there already when it is. */
export function rememberedSession(known: SessionIndex, row: SessionRow): Session {
  const there = known.sessions.get(row.id)
  if (there !== undefined) return there
  const session = sessionFromRow(row)
  known.add(session)
  return session
}

/** Takes links into memory, with the sessions that they belong to. */
export async function rememberLinks(
  reader: Reader,
  known: SessionIndex,
  rows: readonly LinkRow[],
): Promise<void> {
  const fresh = rows.filter(({ source, reference }) => known.link(source, reference) === undefined)
  const missing = new Set(fresh.map((row) => row.session_id).filter((id) => !known.sessions.has(id)))
  for (const row of await rowsIn(reader, SESSIONS, 'id', [...missing])) rememberedSession(known, row)
  for (const row of fresh) {
    const session = known.sessions.get(row.session_id)
    // Without its session it says nothing: that was pruned, or is damaged.
    if (session !== undefined) known.addLink(linkFromRow(row, session))
  }
}

/** Forgets what is not needed for some time. */
export function trimMemory(memory: Memory, nowMs: number): void {
  memory.sinceMs = nowMs - ENDED_KEPT_MS
  memory.known.forget(memory.sinceMs)
}

/** Forgets how far counters were counted where that fills memory: the store knows. */
export function trimCounters({ counters }: Memory): void {
  if (counters.size > MOST_COUNTERS) counters.clear()
}

export function counterKey(row: Pick<CounterRow, 'source' | 'counter' | 'generation'>): string {
  return `${row.source}\n${row.counter}\n${row.generation}`
}

export function heldKey(row: Pick<HeldRow, 'source' | 'whose' | 'from_ms' | 'to_ms'>): string {
  return `${row.source}\n${row.whose}\n${row.from_ms}\n${row.to_ms}`
}

/** Reads counters that are not in memory. */
export async function rememberCounters(
  reader: Reader,
  counters: Map<string, CounterRow>,
  source: string,
  names: readonly string[],
): Promise<void> {
  const rows = await rowsIn<CounterRow>(reader, COUNTERS, 'counter', names, 'and source = :source', {
    source,
  })
  for (const row of rows) counters.set(counterKey(row), row)
}
