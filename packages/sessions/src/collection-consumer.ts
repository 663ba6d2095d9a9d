import {
  type Collection,
  type CollectionConsumer,
  type Context,
  createPause,
  createTurns,
  eachPaced,
  type ObservedTx,
  type Reader,
  usageListenerRef,
  type Volume,
  type VolumeKey,
} from '@steeple/contracts'
import { storableName } from '@steeple/telecom'
import { type Tally, tallyRound } from './count/tally.ts'
import { type Joined, joinRound } from './join/join-round.ts'
import { rowFromLink, rowFromSession, type Session } from './join/session.ts'
import type { LedgerWriter } from './ledger/ledger.ts'
import {
  counterKey,
  heldKey,
  type Memory,
  readMemory,
  rememberCounters,
  rememberedSession,
  rememberLinks,
  storedRound,
  trimCounters,
  trimMemory,
} from './memory.ts'
import type { SessionMetrics } from './metrics.ts'
import { putAllInto, removeAllFrom, rowsIn } from './store/bulk.ts'
import {
  COUNTERS,
  HELD,
  type HeldRow,
  LINKS,
  ROUND,
  SESSIONS,
  SOURCES,
  type SourceRow,
} from './store/tables.ts'

/** Events of single sessions in one round. A core that restarts ends and begins them all at once. */
const MOST_EVENTS = 200

/** Tells of sessions that began and ended: of each one, or of how many when there are too many. */
function tellOf(tx: Pick<ObservedTx, 'event'>, { began, ended }: Joined): void {
  if (began.length + ended.length > MOST_EVENTS) {
    tx.event({
      type: 'session.many',
      subject: 'sessions',
      data: { began: began.length, ended: ended.length },
    })
    return
  }
  for (const session of began) tx.event(eventOf('session.begin', session))
  for (const session of ended) tx.event(eventOf('session.end', session))
}

function eventOf(type: string, session: Session): Parameters<ObservedTx['event']>[0] {
  return {
    type,
    subject: String(session.id),
    data: { imsi_sha256_12: session.imsi, apn: session.apn, technology: session.technology },
  }
}

const putSessions = putAllInto(SESSIONS)
const putLinks = putAllInto(LINKS)
const putCounters = putAllInto(COUNTERS)
const putHeld = putAllInto(HELD)
const removeHeld = removeAllFrom(HELD)

/** Rounds after which memory is trimmed. */
const TRIM_ROUNDS = 20

/** Intervals, and the least time, without an answer after which a source has no say over others. */
const SILENT_INTERVALS = 4
const LEAST_SILENT_MS = 60_000
/** The same until the next holder of an address would have been seen. */
const LATE_INTERVALS = 2
const LEAST_LATE_MS = 30_000

interface ConsumerParts {
  readonly context: Context
  readonly ledger: LedgerWriter
  readonly metrics: SessionMetrics
  readonly heldForMs: number
  /** How often collectors are asked. */
  readonly intervalMs: number
  /** After the commit of a round. */
  counted(sources: ReadonlyMap<string, SourceRow>): void
}

/** Takes the collections of rounds, each in one commit. */
export function createCollectionConsumer(parts: ConsumerParts): CollectionConsumer {
  const { context } = parts
  const inTurn = createTurns()
  let memory: Memory | undefined
  return {
    position: async (source) => (await SOURCES.find(context.db, { source }))?.position ?? undefined,
    take: (collections, signal) =>
      inTurn(async () => {
        signal.throwIfAborted()
        const mine = memory
        // What a round that fails has done to it is not known.
        memory = undefined
        const done = await context.observe((tx) => takeRound(parts, tx, mine, withStorableNames(collections)))
        memory = done.memory
        afterRound(parts, done)
      }),
  }
}

interface Done {
  readonly memory: Memory
  readonly joined: Joined
  readonly tally: Tally
  readonly collections: ReadonlyMap<string, Collection>
}

async function takeRound(
  parts: ConsumerParts,
  tx: ObservedTx,
  mine: Memory | undefined,
  collections: ReadonlyMap<string, Collection>,
): Promise<Done> {
  const nowMs = parts.context.clock.nowMs()
  const stored = await storedRound(tx)
  const memory =
    mine !== undefined && mine.round.round === stored.round ? mine : await readMemory(tx, stored, nowMs)
  const pause = createPause()
  await prepareRound(tx, memory, collections)
  const askedMs = new Map([...memory.sources].map(([source, { at_ms: atMs }]) => [source, atMs]))
  setBack(memory.known.sessions.values(), nowMs, Math.max(...askedMs.values()), parts.intervalMs)
  await pause()
  let nextSession = memory.round.next_session
  const number = memory.round.round + 1
  const joined = joinRound(memory.known, collections, {
    number,
    nowMs,
    answeredMs: new Map([...askedMs, ...[...collections.keys()].map((source) => [source, nowMs] as const)]),
    askedMs: (source) => askedMs.get(source),
    silentMs: Math.max(LEAST_SILENT_MS, SILENT_INTERVALS * parts.intervalMs),
    nextId: () => nextSession++,
  })
  await pause()
  const tally = await tallyRound(memory, collections, joined.named, nowMs, {
    heldForMs: parts.heldForMs,
    lateMs: Math.max(LEAST_LATE_MS, LATE_INTERVALS * parts.intervalMs),
  })
  await pause()
  await storeRound(parts, tx, memory, collections, tally, nowMs)
  memory.round = { id: memory.round.id, round: number, next_session: nextSession }
  await ROUND.put(tx, memory.round)
  tellOf(tx, joined)
  trimCounters(memory)
  if (number % TRIM_ROUNDS === 0) trimMemory(memory, nowMs)
  return { memory, joined, tally, collections }
}

async function storeRound(
  { context, ledger }: ConsumerParts,
  tx: ObservedTx,
  memory: Memory,
  collections: ReadonlyMap<string, Collection>,
  tally: Tally,
  nowMs: number,
): Promise<void> {
  await storeSessions(tx, memory)
  await putCounters(tx, [...tally.counters.values()])
  await eachPaced(tally.counters, ([key, row]) => memory.counters.set(key, row))
  await forgetCounters(tx, memory, collections)
  await storeHeld(tx, memory, tally)
  for (const [source, { position, unseen = [] }] of collections) {
    const before = memory.sources.get(source)
    const seenAllMs = unseen.length === 0 ? nowMs : (before?.at_ms ?? nowMs)
    const row: SourceRow = {
      source,
      position: position ?? before?.position ?? null,
      at_ms: seenAllMs,
      until_ms: tally.untilMs.get(source) ?? before?.until_ms ?? null,
    }
    await SOURCES.put(tx, row)
    memory.sources.set(source, row)
  }
  const increments = await ledger(tx, tally.shares)
  if (increments.length > 0) await context.maybe(usageListenerRef)?.counted(tx, increments)
}

async function storeSessions(tx: ObservedTx, { known }: Memory): Promise<void> {
  const sessions = [...known.sessions.values()]
  const changed = sessions.filter(({ isChanged }) => isChanged)
  await putSessions(tx, changed.map(rowFromSession))
  for (const session of changed) session.isChanged = false
  const links = sessions.flatMap((session) => [...session.links].filter(({ isChanged }) => isChanged))
  await putLinks(tx, links.map(rowFromLink))
  for (const link of links) link.isChanged = false
}

/** Rows that one statement forgets. */
const FORGOTTEN_AT_ONCE = 500
const OVER = `select counter from sessions_counter
  where source = :source and generation = :generation and counter > :after order by counter limit ${FORGOTTEN_AT_ONCE}`
const FORGET = `delete from sessions_counter
  where source = :source and generation = :generation and counter > :after and counter <= :last`

/** Who sends from ever other addresses makes a generation of the tap full of counters again and again. */
async function forgetCounters(
  tx: ObservedTx,
  { counters }: Memory,
  collections: ReadonlyMap<string, Collection>,
): Promise<void> {
  for (const [source, { over }] of collections) {
    if (over === undefined) continue
    const generation = storableName(over)
    const pause = createPause()
    for (let after = ''; ; ) {
      const rows = await tx.all<{ readonly counter: string }>(OVER, { source, generation, after })
      const last = rows.at(-1)?.counter
      if (last === undefined) break
      await tx.run(FORGET, { source, generation, after, last })
      after = last
      await pause()
    }
    await eachPaced(counters, ([key, row]) => {
      if (row.source === source && row.generation === generation) counters.delete(key)
    })
  }
}

async function storeHeld(tx: ObservedTx, memory: Memory, tally: Tally): Promise<void> {
  const over: HeldRow[] = [...tally.settled, ...tally.lost]
  await eachPaced(over, (row) => memory.held.delete(heldKey(row)))
  await removeHeld(tx, over)
  await putHeld(tx, [...tally.held.values()])
  await eachPaced(tally.held, ([key, row]) => memory.held.set(key, row))
}

function afterRound({ context, metrics, counted }: ConsumerParts, done: Done): void {
  const { memory, joined, tally, collections } = done
  metrics.joined(joined, memory.known)
  metrics.tallied(tally, memory.held.values())
  for (const [source, { lost }] of collections) if (lost !== undefined) metrics.lost(source, lost.packets)
  const why = Map.groupBy(tally.refused, (each) => `${each.source}: ${each.why}`)
  if (why.size > 0)
    context.log.warn(
      { volumes: Object.fromEntries([...why].map(([reason, all]) => [reason, all.length])) },
      'volumes were not counted: the source contradicts itself',
    )
  const lost = [...tally.lost, ...tally.overflow.values()].filter((row) => row.up_bytes + row.down_bytes > 0)
  if (lost.length > 0)
    context.log.warn(
      { volumes: lost.length, octets: lost.reduce((all, row) => all + row.up_bytes + row.down_bytes, 0) },
      'octets of addresses that nobody was seen to hold are counted as unattributed',
    )
  counted(memory.sources)
}

/**
 * Nothing begins or ends ahead of now: what did was seen by a clock that was ahead and has been put right since. It is moved
 * back by so much, so that who came after whom stays. Otherwise nobody would hold an address until then, and who has left would.
 * `beforeMs`: when the last round was, by the clock of then.
 */
function setBack(sessions: Iterable<Session>, nowMs: number, beforeMs: number, intervalMs: number): void {
  for (const session of sessions) {
    const latestMs = Math.max(session.startedAtMs, session.endedAtMs ?? 0)
    if (latestMs <= nowMs) continue
    const byMs = Math.max(beforeMs, latestMs) - nowMs + intervalMs
    const moved = (atMs: number): number => (atMs > nowMs ? Math.max(0, atMs - byMs) : atMs)
    session.startedAtMs = moved(session.startedAtMs)
    session.sinceMs = Math.min(session.startedAtMs, moved(session.sinceMs))
    if (session.endedAtMs !== undefined)
      session.endedAtMs = Math.max(session.startedAtMs, moved(session.endedAtMs))
    session.isChanged = true
  }
}

/** Brings into memory what a round names and what is in the store alone. */
async function prepareRound(
  reader: Reader,
  memory: Memory,
  collections: ReadonlyMap<string, Collection>,
): Promise<void> {
  for (const [source, names] of await unknownCounters(memory, collections))
    await rememberCounters(reader, memory.counters, source, [...names])
  for (const [source, references] of unknownReferences(memory, collections)) {
    const rows = await rowsIn(reader, LINKS, 'reference', [...references], 'and source = :source', { source })
    await rememberLinks(reader, memory.known, rows)
  }
  await rememberOlder(reader, memory, collections)
}

/** References of sources may hold identities: they are kept and compared as they are stored. */
function withStorableNames(collections: ReadonlyMap<string, Collection>): ReadonlyMap<string, Collection> {
  return new Map(
    [...collections].map(([source, collection]) => [
      source,
      {
        ...collection,
        sightings: collection.sightings.map((sighting) => {
          const reference = storableName(sighting.reference)
          return reference === sighting.reference ? sighting : { ...sighting, reference }
        }),
      },
    ]),
  )
}

async function unknownCounters(
  { counters }: Memory,
  collections: ReadonlyMap<string, Collection>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const unknown = new Map<string, Set<string>>()
  for (const [source, { volumes }] of collections)
    await eachPaced(volumes, ({ count }) => {
      if (count === 'delta') return
      const counter = storableName(count.counter)
      const generation = storableName(count.generation)
      if (!counters.has(counterKey({ source, counter, generation }))) addTo(unknown, source, counter)
    })
  return unknown
}

function unknownReferences(
  { known }: Memory,
  collections: ReadonlyMap<string, Collection>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const unknown = new Map<string, Set<string>>()
  const note = (source: string, reference: string): void => {
    if (known.link(source, reference) === undefined) addTo(unknown, source, reference)
  }
  for (const [source, { sightings, volumes }] of collections) {
    for (const { reference } of sightings) note(source, reference)
    for (const { key } of volumes)
      if (key.by === 'session') note(key.source ?? source, storableName(key.reference))
  }
  return unknown
}

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, new Set([value]))
  else known.add(value)
}

/** Sessions that ended before memory begins, whose octets come only now. */
async function rememberOlder(
  reader: Reader,
  { known, sinceMs }: Memory,
  collections: ReadonlyMap<string, Collection>,
): Promise<void> {
  const late: Volume[] = []
  for (const { volumes } of collections.values())
    await eachPaced(volumes, (volume) => {
      const { fromMs, toMs, count, upBytes, downBytes } = volume
      const isOld = count === 'delta' ? fromMs < sinceMs : toMs < sinceMs
      if (isOld && upBytes + downBytes > 0) late.push(volume)
    })
  const keys = late.map(({ key }) => key)
  const fromMs = late.reduce((least, volume) => Math.min(least, volume.fromMs), sinceMs)
  const ended = 'and ended_at_ms > :from'
  for (const column of ['address', 'prefix', 'imsi'] as const) {
    const wanted = new Set(keys.flatMap((key) => soughtBy(key, column)))
    for (const row of await rowsIn(reader, SESSIONS, column, [...wanted], ended, { from: fromMs }))
      rememberedSession(known, row)
  }
}

function soughtBy(key: VolumeKey, column: 'address' | 'prefix' | 'imsi'): readonly string[] {
  if (key.by === 'imsi') return column === 'imsi' ? [key.imsi] : []
  if (key.by !== 'address') return []
  return key.address.includes('/') === (column === 'prefix') && column !== 'imsi' ? [key.address] : []
}
