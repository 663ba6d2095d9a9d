import {
  type Backoff,
  type ComponentHealth,
  defineTable,
  isServiceError,
  type Log,
  type Outcome,
  type Reconciler,
  type RunsOn,
  type StateEvent,
  storeCorrupt,
  storeUnavailable,
  type Table,
} from '@steeple/contracts'
import type { CommitGroup, Database, WriterTx } from '@steeple/store'
import { storableText } from '../audit/audit-chain.ts'
import { reasonOf } from '../plugin-packages/failure.ts'
import { currentTerm } from '../reconcile/leadership.ts'
import type { Outbox, OutboxEvent } from './mutations.ts'

interface OutboxRow {
  readonly id: number
  readonly at_ms: number
  readonly type: string
  readonly subject: string
  readonly data: string
}

export const OUTBOX: Table<OutboxRow> = defineTable(
  'kernel_outbox',
  ['id', 'at_ms', 'type', 'subject', 'data'],
  ['id'],
)
type StoredRow = OutboxRow & { readonly row_sum: number }

const COLUMNS = `${OUTBOX.columns.join(', ')}, row_sum`
const OF_TYPE = 'and type = :type'
const OF_NOUN = 'and substr(type, 1, :length) = :noun'
const after = (of: string): string =>
  `select ${COLUMNS} from kernel_outbox where id > :id ${of} order by id limit :limit`
const LAST_ID = 'select coalesce(max(id), 0) as id from kernel_outbox'
const FIRST_ID = 'select coalesce(min(id), 1) as id from kernel_outbox'
const FIRST_KEPT = 'select id from kernel_outbox where at_ms >= :cutoff order by id limit 1'
const REMOVE = 'delete from kernel_outbox where id <= :id'

/** Events removed in one transaction. */
const REMOVED_AT_ONCE = 5_000

/** The outbox, and the way by which the mutations tell it of new events. */
export interface OutboxFeed extends Outbox {
  /** Calls the listeners: events were committed, of these types; of any when absent (another instance's). */
  committed(types?: ReadonlySet<string>): void
}

/** The stream of events over the store. */
export function createOutbox({ db }: { readonly db: Database }): OutboxFeed {
  const listeners = new Set<(types: ReadonlySet<string> | undefined) => void>()
  const idOf = async (sql: string): Promise<number> => (await db.get<{ id: number }>(sql))?.id ?? 0
  return {
    after: async (id, limit, type) => {
      const noun = type?.endsWith('*') === true ? type.slice(0, -1) : undefined
      const at = { id, limit }
      const rows =
        type === undefined
          ? db.all<StoredRow>(after(''), at)
          : noun === undefined
            ? db.all<StoredRow>(after(OF_TYPE), { ...at, type })
            : db.all<StoredRow>(after(OF_NOUN), { ...at, noun, length: noun.length })
      return (await rows).map(eventOf)
    },
    lastId: () => idOf(LAST_ID),
    floorId: async () => (await idOf(FIRST_ID)) - 1,
    onCommit: (listener, signal) => {
      if (signal.aborted) return
      listeners.add(listener)
      signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
    },
    committed: (types) => {
      for (const listener of listeners) listener(types)
    },
  }
}

function eventOf(stored: StoredRow): OutboxEvent {
  const row = openOrLost(stored)
  if (row === undefined) {
    // One damaged row must not silence all that came after it; the integrity scan reports it.
    return { id: Number(stored.id), atMs: 0, type: '', subject: '', data: {}, isLost: true }
  }
  // The row sum was checked: this is the JSON object that was written.
  const data = JSON.parse(row.data) as OutboxEvent['data']
  return { id: row.id, atMs: row.at_ms, type: row.type, subject: row.subject, data }
}

function openOrLost(stored: StoredRow): OutboxRow | undefined {
  try {
    return OUTBOX.open(stored)
  } catch (error) {
    if (isServiceError(error) && error.code === storeCorrupt.code) return undefined
    throw error
  }
}

/** Adds events in a mutation's transaction; ids grow in commit order and are never used twice. */
export interface OutboxWriter {
  append(tx: WriterTx, event: Omit<OutboxEvent, 'id'>): Promise<void>
}

interface GroupEvents {
  last: number
  readonly types: Set<string>
}

/** Makes the writer. `committed` is called once after each commit that added events, with their types. */
export function createOutboxWriter(committed: (types: ReadonlySet<string>) => void): OutboxWriter {
  const ids = new WeakMap<CommitGroup, GroupEvents>()

  async function idsOf(tx: WriterTx): Promise<GroupEvents> {
    const known = ids.get(tx.group)
    if (known !== undefined) return known
    const fresh = { last: (await tx.get<{ id: number }>(LAST_ID))?.id ?? 0, types: new Set<string>() }
    ids.set(tx.group, fresh)
    return fresh
  }

  return {
    append: async (tx, event) => {
      const given = await idsOf(tx)
      const id = given.last + 1
      tx.onUndo(() => {
        given.last = id - 1
      })
      given.last = id
      await OUTBOX.insert(tx, {
        id,
        at_ms: event.atMs,
        type: storableText(event.type),
        subject: storableText(event.subject),
        data: JSON.stringify(event.data),
      })
      given.types.add(event.type)
      tx.afterCommit(() => {
        // The steps of a group run one after the other: the first tells of all.
        if (given.types.size === 0) return
        const types = new Set(given.types)
        given.types.clear()
        committed(types)
      })
    },
  }
}

/** Removes events from before `cutoffMs`, but never the newest: its id is where the next one counts on. */
export async function sweepOutbox(db: Database, cutoffMs: number): Promise<void> {
  const kept = await db.get<{ id: number }>(FIRST_KEPT, { cutoff: cutoffMs })
  const newest = (await db.get<{ id: number }>(LAST_ID))?.id ?? 0
  const upTo = kept === undefined ? newest - 1 : kept.id - 1
  const first = (await db.get<{ id: number }>(FIRST_ID))?.id ?? 1
  for (let id = first - 1; id < upTo; ) {
    id = Math.min(upTo, id + REMOVED_AT_ONCE)
    const bound = id
    await db.transact((tx) => tx.run(REMOVE, { id: bound }))
  }
}

/** How far one subscription of a plugin has come. */
interface SubscriptionRow {
  readonly plugin: string
  readonly type: string
  readonly event_id: number
}

/** Statement that makes the table of the cursors. */
export const SUBSCRIPTION_DDL = `create table kernel_subscription (plugin text not null, type text not null,
  event_id bigint not null, row_sum bigint not null, primary key (plugin, type))`
/** The cursors, one for each plugin and type of event. */
export const SUBSCRIPTIONS: Table<SubscriptionRow> = defineTable(
  'kernel_subscription',
  ['plugin', 'type', 'event_id'],
  ['plugin', 'type'],
)
const FORGET = 'delete from kernel_subscription where plugin = :plugin'

/** Gets one event; it comes again when this throws. */
export type EventHandler = (event: StateEvent, signal: AbortSignal) => Promise<void>

export interface Subscription {
  /** Tells the handler what is new. Level-based: its observed state is the cursor. */
  readonly reconciler: Reconciler
  /** Not ok while an event could not be handled; nothing when all is well. */
  health(): readonly ComponentHealth[]
}

/** The subscriptions of plugins to the outbox. */
export interface Subscriptions {
  /** Begins with what is committed from now on, or where this plugin's subscription stood. `wake` is called for news. */
  open(of: SubscriptionRequest, wake: (resource: string, key: string) => void): Subscription
  /** Forgets how far all subscriptions of a plugin came: it was removed. */
  forget(plugin: string): Promise<void>
}

/** One call of `Context.on`. No `wake` comes after `retiring`. */
interface SubscriptionRequest {
  readonly plugin: string
  readonly type: string
  readonly handler: EventHandler
  readonly runs: RunsOn
  readonly retiring: AbortSignal
}

/** Events read at a time. */
const BATCH = 100
/** How long one call goes on with further events, ms: its bound is for a handler that hangs. */
const SLICE_MS = 10_000
/** Commits of this instance are told at once; this finds what was not told, and moves the cursor past other events. */
const RESYNC_MS = 60_000
/** What waits is due soon after the fault is over: a full disk, a store that was away. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 15_000 }
const KEY = 'next'

export function createSubscriptions(parts: {
  readonly db: Database
  readonly outbox: Outbox
  readonly log: Log
}): Subscriptions {
  const { db, outbox } = parts
  return {
    open: (request, wake) => {
      const { plugin, type } = request
      const resource = `events:${plugin}:${type}`
      const delivery = deliveryOf(request, parts)
      outbox.onCommit((types) => {
        if (types === undefined || [...types].some((each) => isOf(type, each))) wake(resource, KEY)
      }, request.retiring)
      return {
        reconciler: {
          resource,
          resyncMs: RESYNC_MS,
          backoff: BACKOFF,
          runs: request.runs,
          keys: async () => [KEY],
          reconcile: (_keys, signal) => delivery.step(signal),
        },
        health: () => {
          const problem = delivery.problem()
          if (problem === undefined) return []
          const { reason, isOfStore, isOfWrites } = problem
          // The store takes writes again: this is tried again within seconds, and is no outage of its own.
          if (isOfWrites && db.writeTrouble() === undefined) return []
          const said = {
            name: `events.${type}`,
            kind: 'feature',
            status: 'degraded',
            detail: reason,
          } as const
          return [isOfStore ? { ...said, incident: 'store_gone' } : said]
        },
      }
    },
    forget: (plugin) =>
      db.transact(async (tx) => {
        await tx.run(FORGET, { plugin })
      }),
  }
}

function isOf(wanted: string, type: string): boolean {
  return wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted
}

/** Why events were not taken. */
interface Problem {
  readonly reason: string
  /** The store could not be used. */
  readonly isOfStore: boolean
  /** It took no writes. */
  readonly isOfWrites: boolean
}

function deliveryOf(
  { plugin, type, handler, runs }: SubscriptionRequest,
  { db, outbox, log }: { readonly db: Database; readonly outbox: Outbox; readonly log: Log },
) {
  const isKept = runs !== 'each'
  // Asked at once: what is committed after the call of `on` is told.
  const firstId = outbox.lastId()
  firstId.catch(() => undefined)
  let cursor: number | undefined
  let epoch: number | undefined
  let problem: Problem | undefined

  const begin = async (): Promise<number> => {
    const stored = isKept ? await SUBSCRIPTIONS.find(db, { plugin, type }) : undefined
    const at = stored?.event_id ?? (await firstId)
    if (stored === undefined) await keep(at)
    const floor = await outbox.floorId()
    if (at >= floor) return at
    log.warn({ plugin, type, after: at, up_to: floor }, 'events were removed before the plugin had them')
    return floor
  }

  const keep = async (eventId: number): Promise<void> => {
    if (eventId === cursor) return
    if (isKept) await db.transact((tx) => SUBSCRIPTIONS.put(tx, { plugin, type, event_id: eventId }))
    cursor = eventId
  }

  const deliver = async (signal: AbortSignal): Promise<Outcome> => {
    if (currentTerm()?.epoch !== epoch) cursor = undefined // Another instance may have led since.
    epoch = currentTerm()?.epoch
    cursor ??= await begin()
    const head = await outbox.lastId()
    const events = await outbox.after(cursor, BATCH, type)
    const endMs = performance.now() + SLICE_MS
    let done = cursor
    let left = events.length
    try {
      for (const event of events) {
        if (signal.aborted || performance.now() > endMs) break
        await handle(event, signal)
        done = event.id
        left -= 1
      }
    } finally {
      await keep(left === 0 && events.length < BATCH ? Math.max(head, done) : done)
    }
    return left === 0 && events.length < BATCH
      ? { state: 'converged' }
      : { state: 'pending', afterMs: 0, reason: 'there are more events' }
  }

  const handle = async (event: OutboxEvent, signal: AbortSignal): Promise<void> => {
    if (event.isLost === true) {
      log.error({ plugin, event: event.id }, 'event is damaged in the store and left out')
      return
    }
    try {
      await handler(event, signal)
    } catch (error) {
      throw new Error(`event ${event.id} was not taken, and those after it wait: ${reasonOf(error)}`, {
        cause: error,
      })
    }
  }

  return {
    problem: () => problem,
    step: async (signal: AbortSignal): Promise<Outcome> => {
      try {
        const outcome = await deliver(signal)
        problem = undefined
        return outcome
      } catch (error) {
        const isOfStore = isStoreAway(error)
        const isOfWrites = isOfStore && db.writeTrouble() !== undefined
        problem = { reason: reasonOf(error), isOfStore, isOfWrites }
        throw error
      }
    },
  }
}

/** Whether the store, or what a handler asked of it, is the cause. */
function isStoreAway(error: unknown): boolean {
  if (isServiceError(error) && error.code === storeUnavailable.code) return true
  return error instanceof Error && error.cause !== undefined && isStoreAway(error.cause)
}
