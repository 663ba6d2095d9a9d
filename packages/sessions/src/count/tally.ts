import { type Collection, eachPaced, sumOctets, type Volume, type VolumeKey } from '@steeple/contracts'
import { storableName } from '@steeple/telecom'
import type { Session } from '../join/session.ts'
import type { Share } from '../ledger/ledger.ts'
import { counterKey, heldKey, type Memory } from '../memory.ts'
import type { CounterRow, HeldRow } from '../store/tables.ts'

/** Octets that moved in a span. */
interface Moved {
  readonly fromMs: number
  readonly toMs: number
  readonly upBytes: number
  readonly downBytes: number
}

/** What a reading of a counter says: its growth, with the row that counts it; that it went back; or nothing new. */
type Growth =
  | { readonly result: 'grown'; readonly moved: Moved; readonly row: CounterRow }
  | { readonly result: 'backwards' | 'same' }

/**
 * The growth of a counter since it was counted last: all of it for one that was never counted, unless it had counted for
 * others before. Nothing grew before `untilMs`, when its source was last read: it would have been read then.
 *
 * A counter that went back in one direction is not believed in the other either; what was counted stays the mark.
 */
function growthOf(
  source: string,
  volume: Volume & { readonly count: Exclude<Volume['count'], 'delta'> },
  known: CounterRow | undefined,
  untilMs: number | undefined,
): Growth {
  const { upBytes, downBytes, toMs } = volume
  const { counter, generation, isBeginning } = volume.count
  const row = { source, counter, generation, up_bytes: upBytes, down_bytes: downBytes, to_ms: toMs }
  if (known === undefined) {
    const octets = isBeginning === true ? { upBytes: 0, downBytes: 0 } : { upBytes, downBytes }
    const moved = { fromMs: volume.fromMs, toMs, ...octets }
    return { result: 'grown', moved, row }
  }
  const up = upBytes - known.up_bytes
  const down = downBytes - known.down_bytes
  if (up < 0 || down < 0) return { result: 'backwards' }
  if (up === 0 && down === 0 && !volume.isIncomplete) return { result: 'same' }
  // What was read later than now, was by a clock that has been set back since: then its source's last reading alone tells.
  const beforeMs = known.to_ms > toMs ? (untilMs ?? toMs) : Math.max(known.to_ms, untilMs ?? 0)
  const fromMs = Math.min(toMs, beforeMs)
  return {
    result: 'grown',
    moved: { fromMs, toMs, upBytes: up, downBytes: down },
    row: { ...row, to_ms: Math.max(toMs, known.to_ms) },
  }
}

/** A later time has no timestamp, and soon none that a calendar knows. */
const YEAR_10000_MS = 253_402_300_800_000

/** What is wrong with a volume that no source that works gives; undefined when nothing is. */
function volumeProblem({ upBytes, downBytes, fromMs, toMs }: Volume): string | undefined {
  if (![upBytes, downBytes].every((octets) => Number.isSafeInteger(octets) && octets >= 0)) return 'octets'
  if (![fromMs, toMs].every((ms) => Number.isSafeInteger(ms) && ms >= 0 && ms < YEAR_10000_MS)) return 'span'
  if (fromMs > toMs) return 'span'
  return undefined
}

/** A part of octets, and whose it is. */
interface Part extends Moved {
  readonly session: Session
  /** The address changed hands in the span: how much belongs to whom is not known exactly. */
  readonly isDivided: boolean
}

/** Sightings come with the polls, and clocks differ: an address is a session's for so long before and behind, ms. */
const MARGIN_MS = 60_000

/**
 * Whose the octets of an address are.
 *
 * - Of one session that held it at some time of the span: all are its own.
 * - Of several one after the other: divided by the time that each held it, and every part is marked.
 * - Of none: of one that begins at most a minute after the span. Of one that had ended at most a minute before only when
 *   `isLate`, since the next holder may not have been seen yet.
 *
 * Undefined when nobody is known.
 */
function partsOf(holders: readonly Session[], moved: Moved, isLate: boolean): readonly Part[] | undefined {
  const { fromMs, toMs } = moved
  const within = holders.filter((each) => each.sinceMs < toMs && (each.endedAtMs ?? toMs) > fromMs)
  if (within.length > 1) return divided(within, moved)
  const owner =
    within[0] ??
    nearest(holders.filter((each) => each.sinceMs >= toMs && each.sinceMs < toMs + MARGIN_MS)) ??
    // A span of no length, at the moment of a beginning or an end.
    holders.findLast((each) => each.sinceMs <= toMs && (each.endedAtMs ?? fromMs) >= fromMs) ??
    (isLate ? lastEnded(holders, fromMs) : undefined)
  return owner === undefined ? undefined : [{ ...moved, session: owner, isDivided: false }]
}

function nearest(sessions: readonly Session[]): Session | undefined {
  return sessions.toSorted((a, b) => a.sinceMs - b.sinceMs)[0]
}

function lastEnded(holders: readonly Session[], fromMs: number): Session | undefined {
  return holders
    .filter(({ endedAtMs }) => endedAtMs !== undefined && endedAtMs + MARGIN_MS > fromMs)
    .toSorted((a, b) => (b.endedAtMs ?? 0) - (a.endedAtMs ?? 0))[0]
}

function divided(holders: readonly Session[], moved: Moved): readonly Part[] {
  const sorted = holders.toSorted((a, b) => a.sinceMs - b.sinceMs || a.id - b.id)
  const whole = moved.toMs - moved.fromMs
  let upBytes = 0
  let downBytes = 0
  return sorted.map((session, index) => {
    const fromMs = index === 0 ? moved.fromMs : Math.max(moved.fromMs, session.sinceMs)
    const next = sorted[index + 1]
    const toMs = next === undefined ? moved.toMs : Math.max(moved.fromMs, next.sinceMs)
    // Up to here, so that all parts together are the whole.
    const share = (toMs - moved.fromMs) / whole
    const up = next === undefined ? moved.upBytes : Math.floor(moved.upBytes * share)
    const down = next === undefined ? moved.downBytes : Math.floor(moved.downBytes * share)
    const part = {
      session,
      fromMs,
      toMs,
      upBytes: up - upBytes,
      downBytes: down - downBytes,
      isDivided: true,
    }
    upBytes = up
    downBytes = down
    return part
  })
}

/**
 * Whose octets are not told apart, as the key of a held row: no address has that name. The row has no octets, and says that in
 * its span some did not wait for their session: there was no room.
 */
const OTHERS = JSON.stringify({ by: 'address', address: 'others' })

/** Whether a row is such a mark. */
function isOverflow({ whose }: HeldRow): boolean {
  return whose === OTHERS
}

/** Octets of one source that there was no room for: one row, however many addresses they are of. */
function overflowRow(source: string, moved: Moved, before: HeldRow | undefined, nowMs: number): HeldRow {
  return {
    source,
    whose: OTHERS,
    from_ms: Math.min(moved.fromMs, before?.from_ms ?? moved.fromMs),
    to_ms: Math.max(moved.toMs, before?.to_ms ?? moved.toMs),
    up_bytes: sumOctets(moved.upBytes, before?.up_bytes ?? 0),
    down_bytes: sumOctets(moved.downBytes, before?.down_bytes ?? 0),
    is_incomplete: 1,
    held_at_ms: nowMs,
  }
}

/** What is kept of them: where they are from and when. */
function markOf(row: HeldRow): HeldRow {
  return { ...row, up_bytes: 0, down_bytes: 0 }
}

/** What says that octets of these sessions, which have only just become known, may be among those that did not wait. */
function sharesOf(
  marks: readonly HeldRow[],
  named: readonly Session[],
): readonly { readonly session: Session; readonly share: Share }[] {
  return [...Map.groupBy(marks, ({ source }) => source)].flatMap(([source, rows]) => {
    const first = Math.min(...rows.map((row) => row.from_ms))
    const toMs = Math.max(...rows.map((row) => row.to_ms))
    return named
      .filter(({ sinceMs, endedAtMs }) => sinceMs < toMs + MARGIN_MS && (endedAtMs ?? toMs) >= first)
      .map((session) => {
        const fromMs = Math.max(first, Math.min(session.sinceMs, toMs - 1))
        const { imsi, apn: lane } = session
        return {
          session,
          share: { imsi, source, lane, fromMs, toMs, upBytes: 0, downBytes: 0, isIncomplete: true },
        }
      })
  })
}

/** Why a volume was not counted. */
type Refusal = 'octets' | 'span' | 'backwards'

/** What a round makes of its volumes; nothing of it is stored yet. */
export interface Tally {
  readonly shares: Share[]
  readonly counters: Map<string, CounterRow>
  /** Octets that wait from this round on. */
  readonly held: Map<string, HeldRow>
  /** What no longer waits: it has found its session, or nobody came for too long. */
  readonly settled: HeldRow[]
  readonly lost: HeldRow[]
  /** What there is no room for, which never waited: by source. */
  readonly overflow: Map<string, HeldRow>
  readonly refused: { readonly source: string; readonly why: Refusal }[]
  /** The end of the last span of each source. */
  readonly untilMs: Map<string, number>
}

/** How long octets wait for their session. */
interface Patience {
  /** After so long the next holder of an address would have been seen, ms. */
  readonly lateMs: number
  /** After so long nobody is waited for, ms. */
  readonly heldForMs: number
}

/** So much waits at most: whoever sends from addresses that nobody has must not fill the store. */
const MOST_HELD = 50_000

/** Octets wait longer while no source lists sessions; but not for ever, ms. */
const LONGEST_MS = 86_400_000

/**
 * Counts the volumes of one round. Sessions get their octets here; the rest is in what it returns. `named`: those of which the
 * address was not known before. Others get their turns meanwhile: whoever sends from ever other addresses makes the lists long.
 */
export async function tallyRound(
  memory: Memory,
  collections: ReadonlyMap<string, Collection>,
  named: readonly Session[],
  nowMs: number,
  patience: Patience,
): Promise<Tally> {
  const tally: Tally = {
    shares: [],
    counters: new Map(),
    held: new Map(),
    settled: [],
    lost: [],
    overflow: new Map(),
    refused: [],
    untilMs: new Map(),
  }
  for (const [source, collection] of collections) await tallySource(memory, tally, source, collection, nowMs)
  const isWatched = [...collections.values()].some(({ isWhole }) => isWhole)
  const heldForMs = isWatched ? patience.heldForMs : LONGEST_MS
  const marks: HeldRow[] = []
  await eachPaced(memory.held, ([key, row]) => {
    if (isOverflow(row)) marks.push(row)
    // Octets that came to it in this round: they are looked at together in the next one.
    if (!tally.held.has(key)) retry(memory, tally, row, nowMs, { ...patience, heldForMs })
  })
  for (const { session, share } of sharesOf(marks, named)) {
    tally.shares.push(share)
    addToSession(session, share.source, share, true)
  }
  for (const row of tally.overflow.values()) tally.held.set(heldKey(row), markOf(row))
  return tally
}

async function tallySource(
  memory: Memory,
  tally: Tally,
  source: string,
  collection: Collection,
  nowMs: number,
): Promise<void> {
  const isAgain = isCountedAlready(memory, source, collection)
  await eachPaced(collection.volumes, (volume) => {
    if (isAgain && volume.count === 'delta') return
    const moved = movedBy(memory, tally, source, volume)
    if (moved === undefined) return
    const isIncomplete = volume.isIncomplete || isLostIn(collection.lost, moved)
    const whose = { source, key: volume.key, isIncomplete }
    if (!give(memory, tally, whose, moved, false)) hold(memory, tally, whose, moved, nowMs)
  })
}

/** What was committed and not answered is offered again: where a position is, deltas are counted up to it. */
function isCountedAlready({ sources }: Memory, source: string, { position }: Collection): boolean {
  return position !== undefined && sources.get(source)?.position === position
}

function movedBy(memory: Memory, tally: Tally, source: string, volume: Volume): Moved | undefined {
  const problem = volumeProblem(volume)
  if (problem !== undefined) {
    tally.refused.push({ source, why: problem === 'octets' ? 'octets' : 'span' })
    return undefined
  }
  const { count, upBytes, downBytes, fromMs, toMs } = volume
  tally.untilMs.set(source, Math.max(toMs, tally.untilMs.get(source) ?? 0))
  if (count === 'delta') {
    const isNothing = upBytes === 0 && downBytes === 0 && !volume.isIncomplete
    return isNothing ? undefined : { fromMs, toMs, upBytes, downBytes }
  }
  const named = {
    ...count,
    counter: storableName(count.counter),
    generation: storableName(count.generation),
  }
  const key = counterKey({ source, ...named })
  const known = tally.counters.get(key) ?? memory.counters.get(key)
  const until = memory.sources.get(source)?.until_ms ?? undefined
  const growth = growthOf(source, { ...volume, count: named }, known, until)
  if (growth.result === 'backwards') tally.refused.push({ source, why: 'backwards' })
  if (growth.result !== 'grown') return undefined
  tally.counters.set(key, growth.row)
  const { moved } = growth
  return moved.upBytes === 0 && moved.downBytes === 0 && !volume.isIncomplete ? undefined : moved
}

interface Whose {
  readonly source: string
  readonly key: VolumeKey
  readonly isIncomplete: boolean
}

/** Gives octets to whom they belong; false when that is not known. */
function give(memory: Memory, tally: Tally, whose: Whose, moved: Moved, isLate: boolean): boolean {
  const { source, key, isIncomplete } = whose
  const add = (imsi: string, lane: string, part: Moved, isPartial: boolean, session?: Session): void => {
    tally.shares.push({ imsi, source, lane, ...onlyMoved(part), isIncomplete: isPartial })
    if (session !== undefined) addToSession(session, source, part, isPartial)
  }
  if (key.by === 'imsi') {
    const sessions = memory.known
      .ofImsi(key.imsi)
      .filter(({ apn }) => key.apn === undefined || apn === key.apn)
    const then = sessions.filter((each) => isIn(each, moved))
    // Of several APNs it is not known which one moved them: the subscriber has them, and none of its sessions.
    const isOpen = new Set(then.map(({ apn }) => apn)).size > 1
    const session = isOpen ? undefined : (then.at(-1) ?? sessions.at(-1))
    add(key.imsi, key.apn ?? '', moved, isIncomplete, session)
    return true
  }
  if (key.by === 'session') {
    const session = memory.known.link(key.source ?? source, storableName(key.reference))?.session
    if (session === undefined) return false
    add(session.imsi, session.apn, moved, isIncomplete, session)
    return true
  }
  const parts = partsOf(memory.known.holders(key.address), moved, isLate)
  if (parts === undefined) return false
  for (const part of parts)
    add(part.session.imsi, part.session.apn, part, isIncomplete || part.isDivided, part.session)
  return true
}

function onlyMoved({ fromMs, toMs, upBytes, downBytes }: Moved): Moved {
  return { fromMs, toMs, upBytes, downBytes }
}

function isIn(session: Session, { fromMs, toMs }: Moved): boolean {
  return session.startedAtMs <= toMs && (session.endedAtMs ?? toMs) >= fromMs
}

function addToSession(session: Session, source: string, moved: Moved, isIncomplete: boolean): void {
  const volume = session.volumes.get(source) ?? { up: 0, down: 0, isIncomplete: false }
  volume.up = sumOctets(volume.up, moved.upBytes)
  volume.down = sumOctets(volume.down, moved.downBytes)
  volume.isIncomplete ||= isIncomplete
  session.volumes.set(source, volume)
  session.isChanged = true
}

function hold(memory: Memory, tally: Tally, whose: Whose, moved: Moved, nowMs: number): void {
  const { source, key, isIncomplete } = whose
  const text = JSON.stringify(key.by === 'session' ? { ...key, reference: storableName(key.reference) } : key)
  const place = { source, whose: text, from_ms: moved.fromMs, to_ms: moved.toMs }
  const name = heldKey(place)
  const before = tally.held.get(name) ?? memory.held.get(name)
  const isFull = before === undefined && memory.held.size + tally.held.size >= MOST_HELD
  // Of an address that somebody has had lately, which only waits for the next holder, there are no more than sessions.
  if (isFull && !(key.by === 'address' && memory.known.holders(key.address).length > 0)) {
    tally.overflow.set(source, overflowRow(source, moved, tally.overflow.get(source), nowMs))
    return
  }
  const row: HeldRow = {
    ...place,
    up_bytes: sumOctets(before?.up_bytes ?? 0, moved.upBytes),
    down_bytes: sumOctets(before?.down_bytes ?? 0, moved.downBytes),
    is_incomplete: isIncomplete || before?.is_incomplete === 1 ? 1 : 0,
    held_at_ms: before?.held_at_ms ?? nowMs,
  }
  tally.held.set(name, row)
}

function retry(
  memory: Memory,
  tally: Tally,
  row: HeldRow,
  nowMs: number,
  { lateMs, heldForMs }: Patience,
): void {
  const moved = { fromMs: row.from_ms, toMs: row.to_ms, upBytes: row.up_bytes, downBytes: row.down_bytes }
  const ageMs = nowMs - row.held_at_ms
  // Written from a key alone.
  const whose = {
    source: row.source,
    key: JSON.parse(row.whose) as VolumeKey,
    isIncomplete: row.is_incomplete === 1,
  }
  if (give(memory, tally, whose, moved, ageMs >= lateMs)) tally.settled.push(row)
  else if (ageMs >= heldForMs) tally.lost.push(row)
}

function isLostIn(lost: Collection['lost'], { fromMs, toMs }: Moved): boolean {
  return lost !== undefined && lost.packets > 0 && lost.fromMs <= toMs && lost.toMs >= fromMs
}
