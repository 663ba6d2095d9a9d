import {
  coreDriverRef,
  type HssDriver,
  hssDriverRef,
  type Imsi,
  isServiceError,
  NODE_ID_SCHEMA,
  notFound,
  type Outcome,
  ok,
  pageFrom,
  pageSchema,
  type Reconciler,
  type Route,
  recordSchema,
  route,
  type Subscriber,
  type SubscriberObserved,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import { type RoamingParts, VISITOR_RESOURCE } from '../parts.ts'
import { laterSeq, seqIn, sqnFrom } from '../sqn.ts'
import { ENDED, raiseMark, VISITORS, type VisitorRow, type VisitorState, visitorsAfter } from '../store.ts'
import { unpackCard, type VisitorCard, wipeCard } from '../visitor-card.ts'

/** Each visitor is compared with the HSS so often. */
const RESYNC_MS = 60_000
const BACKOFF = { firstMs: 1_000, longestMs: 30_000 }
const ABREAST = 4
const KICK_AGAIN_MS = 500
const PATIENCE_MS = 20_000
const NO_HSS: Outcome = { state: 'pending', afterMs: 5_000, reason: 'no HSS driver is loaded' }
const MOST_VISITORS = 100_000
/** Visitors that are compared with the HSS at once. */
const BATCH = 100
const DONE: Outcome = { state: 'converged' }
const LEAVES: Outcome = { state: 'pending', afterMs: KICK_AGAIN_MS, reason: 'its session is being ended' }
const FOREIGN: Outcome = {
  state: 'failed',
  reason: 'the HSS holds a subscriber of that IMSI that this service did not write',
}

/** Brings visitors into the HSS of this box, and out of it. */
export function visitorReconciler(parts: RoamingParts): Reconciler {
  const { context } = parts
  const cuts: Cuts = new Map()
  return {
    resource: VISITOR_RESOURCE,
    resyncMs: RESYNC_MS,
    backoff: BACKOFF,
    batch: BATCH,
    concurrency: ABREAST,
    urgentConcurrency: ABREAST,
    keys: async () =>
      (await visitorsAfter(context.db, { after: '', limit: MOST_VISITORS })).map(({ hash }) => hash),
    reconcile: async (keys, signal): Promise<Outcome | ReadonlyMap<string, Outcome>> => {
      const driver = context.maybe(hssDriverRef)
      if (driver === undefined) return NO_HSS
      const opened = await openedVisitors(parts, keys)
      try {
        const imsis = opened.map(({ card }) => card.imsi)
        const seen = await driver.observe(imsis, signal)
        const due = opened
          .map((one) => ({ ...one, held: seen.get(one.card.imsi) }))
          .filter((one) => !isAsWanted(one))
        const ins = due.filter(({ row }) => stateOf(row) === 'open')
        const outs = due.filter(({ row }) => stateOf(row) !== 'open')
        const done = [
          await bringIn(parts, driver, ins, signal),
          await takeOut({ ...parts, cuts }, driver, outs, signal),
        ]
        return new Map(done.flatMap((each) => [...each]))
      } finally {
        for (const { card } of opened) wipeCard(card)
      }
    },
  }
}

/** A visitor whose card is open, and what the HSS holds of it. */
interface Opened {
  readonly row: VisitorRow
  readonly card: VisitorCard
}
interface Seen extends Opened {
  readonly held: SubscriberObserved | undefined
}
type Outcomes = Map<string, Outcome>

async function openedVisitors(
  { context, vault }: RoamingParts,
  keys: readonly string[],
): Promise<readonly Opened[]> {
  const opened: Opened[] = []
  for (const hash of keys) {
    const row = await VISITORS.find(context.db, { hash })
    if (row === undefined) continue
    const plain = vault.open(row.sealed, `roaming_visitor/${hash}`)
    try {
      opened.push({ row, card: unpackCard(plain) })
    } finally {
      plain.fill(0)
    }
  }
  return opened
}

/** What HSS and core are to come to. */
function stateOf({ wanted, is_over }: Pick<VisitorRow, 'wanted' | 'is_over'>): VisitorState {
  return wanted === 'open' && is_over === 1 ? 'blocked' : wanted
}

/** What `done` says once they have come to it. */
function doneText(row: VisitorRow): string {
  return `${row.revision} ${stateOf(row)}`
}

function isAsWanted({ row, held }: Seen): boolean {
  if (row.done !== doneText(row)) return false
  return stateOf(row) === 'open' ? held?.isBlocked === false : held === undefined || held.isBlocked
}

async function bringIn(
  parts: RoamingParts,
  driver: HssDriver,
  all: readonly Seen[],
  signal: AbortSignal,
): Promise<Outcomes> {
  const outcomes: Outcomes = new Map()
  const subscribers = new Map<VisitorRow, Subscriber>()
  for (const { row, card, held } of all) {
    if (held !== undefined && row.inserted_at_ms === null) outcomes.set(row.hash, FOREIGN)
    else {
      const ready = held === undefined ? await begun(parts, row) : row
      subscribers.set(ready, { ...card, sqn: sqnFrom(ready.seq, ready.ind), isBlocked: false })
    }
  }
  if (subscribers.size === 0) return outcomes
  const results = await driver.upsert([...subscribers.values()], signal)
  for (const [row, { imsi }] of subscribers) {
    const error = results.get(imsi)
    if (error === undefined) await note(parts, row)
    outcomes.set(row.hash, error === undefined ? DONE : failed(error))
  }
  return outcomes
}

/** The row with the SEQ that it is inserted with: above all that was drawn here, kept before the HSS has it. */
async function begun({ context }: RoamingParts, row: VisitorRow): Promise<VisitorRow> {
  const nowMs = context.clock.nowMs()
  // The HSS has lost it, with the SEQ that it had come to.
  const seq = row.inserted_at_ms === null ? row.seq : laterSeq(row.seq, row.inserted_at_ms, nowMs)
  return await context.db.write(async (tx) => {
    const now = (await VISITORS.find(tx, { hash: row.hash })) ?? row
    const after = { ...now, seq: Math.max(now.seq, seq), inserted_at_ms: nowMs }
    await VISITORS.put(tx, after)
    await raiseMark(tx, { hash: after.hash, ind: after.ind, seq: after.seq })
    return after
  })
}

/** Since when those are being cut off that are not known to be off, ms of the monotonic clock. */
type Cuts = Map<string, number>
type CutParts = RoamingParts & { readonly cuts: Cuts }

/** Blocks all before anything is waited for: a phone would be back at once. Those that are to end are removed once they are off. */
async function takeOut(
  parts: CutParts,
  driver: HssDriver,
  all: readonly Seen[],
  signal: AbortSignal,
): Promise<Outcomes> {
  const outcomes: Outcomes = new Map()
  if (all.length === 0) return outcomes
  const imsis = all.map(({ card }) => card.imsi)
  const blocked = await driver.setBlocked(imsis, true, signal)
  const gone: Seen[] = []
  for (const one of all) {
    const { row, card } = one
    const error = blocked.get(card.imsi)
    if (error !== undefined && !isAbsence(error)) outcomes.set(row.hash, failed(error))
    else if (!(await isOff(parts, row, card.imsi, signal))) outcomes.set(row.hash, LEAVES)
    else if (stateOf(row) === 'ended') gone.push(one)
    else {
      await note(parts, row)
      outcomes.set(row.hash, DONE)
    }
  }
  for (const [hash, outcome] of await remove(parts, driver, gone, signal)) outcomes.set(hash, outcome)
  return outcomes
}

async function remove(
  parts: RoamingParts,
  driver: HssDriver,
  all: readonly Seen[],
  signal: AbortSignal,
): Promise<Outcomes> {
  const outcomes: Outcomes = new Map()
  if (all.length === 0) return outcomes
  const imsis = all.map(({ card }) => card.imsi)
  const found = await driver.whole?.(imsis, 'without keys', signal)
  const results = await driver.remove(imsis, signal)
  for (const { row, card } of all) {
    const error = results.get(card.imsi)
    if (error === undefined) await forget(parts, row, found?.get(card.imsi)?.sqn)
    outcomes.set(row.hash, error === undefined ? DONE : failed(error))
  }
  return outcomes
}

/** Ends a session. A core that has not said for a while that it did holds up no keys. */
async function isOff(
  { context, cuts }: CutParts,
  { hash }: VisitorRow,
  imsi: Imsi,
  signal: AbortSignal,
): Promise<boolean> {
  const nowMs = context.clock.monotonicMs()
  const sinceMs = cuts.get(hash) ?? nowMs
  cuts.set(hash, sinceMs)
  const how = await context
    .maybe(coreDriverRef)
    ?.kick(imsi, signal)
    .catch((error: unknown) => {
      signal.throwIfAborted()
      context.log.debug({ reason: safeText(error) }, 'the core takes no kick of a visitor')
      return 'pending' as const
    })
  const isDone = how !== 'pending' || nowMs - sinceMs > PATIENCE_MS
  if (isDone) cuts.delete(hash)
  return isDone
}

function isAbsence(error: Error): boolean {
  return isServiceError(error) && error.code === notFound.code
}

/** The driver's words may name the subscriber. */
function failed(error: Error): Outcome {
  return { state: 'failed', reason: safeText(error) }
}

async function note({ context }: RoamingParts, row: VisitorRow): Promise<void> {
  await context.db.write(async (tx) => {
    const now = await VISITORS.find(tx, { hash: row.hash })
    if (now !== undefined) await VISITORS.put(tx, { ...now, done: doneText(row) })
  })
}

/** Its keys are gone with the row; the mark stays, and what of its usage the home has not counted. */
async function forget({ context }: RoamingParts, row: VisitorRow, sqn: bigint | undefined): Promise<void> {
  await context.db.write(async (tx) => {
    const now = await VISITORS.find(tx, { hash: row.hash })
    if (now === undefined) return
    const seq = Math.max(now.seq, sqn === undefined ? 0 : seqIn(sqn))
    await raiseMark(tx, { hash: row.hash, ind: row.ind, seq })
    // Granted again meanwhile: it begins anew.
    if (now.wanted === 'ended') {
      const { hash, home_id, visit, since_ms, base_up_bytes, base_down_bytes } = now
      const ended_at_ms = context.clock.nowMs()
      await ENDED.put(tx, { hash, home_id, visit, since_ms, base_up_bytes, base_down_bytes, ended_at_ms })
      await VISITORS.remove(tx, { hash })
    } else await VISITORS.put(tx, { ...now, seq: seq + 1, inserted_at_ms: null, done: null })
  })
}

/** `GET /v1/roaming/visitors` */
export function visitorsRoute({ context }: RoamingParts): Route {
  return route({
    method: 'GET',
    path: '/v1/roaming/visitors',
    role: 'viewer',
    summary: 'List the SIMs of other boxes that this one serves',
    description: 'Each with its home and the end of its lease.',
    schema: {
      response: pageSchema(
        'visitors',
        recordSchema({
          imsi_sha256_12: { type: 'string' },
          home: recordSchema({ node_id: NODE_ID_SCHEMA, name: { type: 'string' } }),
          state: {
            type: 'string',
            description: 'open, blocked or ended, as it is to be here; more may come.',
          },
          is_done: { type: 'boolean', description: 'Whether HSS and core have come to that.' },
          since: TIMESTAMP_SCHEMA,
          until: { ...TIMESTAMP_SCHEMA, description: 'When it ends, unless its home renews it.' },
        }),
      ),
    },
    paged: true,
    handle: async (request) => {
      const page = request.page()
      const after = String(page.after?.[0] ?? '')
      const rows = await visitorsAfter(context.db, { after, limit: page.limit + 1 })
      const record = (row: VisitorRow): object => ({
        imsi_sha256_12: row.hash,
        home: { node_id: row.home_id, name: row.home_name },
        state: stateOf(row),
        is_done: row.done === doneText(row),
        since: timestampFromMs(row.since_ms),
        until: timestampFromMs(row.until_ms),
      })
      return ok(await pageFrom(page, 'visitors', rows, record, ({ hash }) => [hash]))
    },
  })
}
