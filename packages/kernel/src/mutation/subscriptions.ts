import {
  type ComponentHealth,
  defineTable,
  type Log,
  type Outcome,
  type Reconciler,
  type RunsOn,
  type StateEvent,
  type Table,
} from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { reasonOf } from '../plugin-packages/failure.ts'
import { currentTerm } from '../reconcile/leadership.ts'
import type { Outbox, OutboxEvent } from './mutations.ts'

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
export const SUBSCRIPTIONS: Table<SubscriptionRow> = defineTable<SubscriptionRow>(
  'kernel_subscription',
  ['plugin', 'type', 'event_id'],
  ['plugin', 'type'],
)
const FORGET = 'delete from kernel_subscription where plugin = :plugin'

/** Gets one event; it comes again when this throws. */
export type EventHandler = (event: StateEvent, signal: AbortSignal) => Promise<void>

/** What a plugin hears of. */
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
export interface SubscriptionRequest {
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
const KEY = 'next'

/** The subscriptions over a store. */
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
          runs: request.runs,
          keys: async () => [KEY],
          reconcile: (_keys, signal) => delivery.step(signal),
        },
        health: () => {
          const problem = delivery.problem()
          return problem === undefined
            ? []
            : [{ name: `events.${type}`, kind: 'feature', status: 'degraded', detail: problem }]
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

interface Delivery {
  step(signal: AbortSignal): Promise<Outcome>
  problem(): string | undefined
}

function deliveryOf(
  { plugin, type, handler, runs }: SubscriptionRequest,
  { db, outbox, log }: { readonly db: Database; readonly outbox: Outbox; readonly log: Log },
): Delivery {
  const isKept = runs !== 'each'
  // Asked at once: what is committed after the call of `on` is told.
  const firstId = outbox.lastId()
  firstId.catch(() => undefined)
  let cursor: number | undefined
  let epoch: number | undefined
  let problem: string | undefined

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
    step: async (signal) => {
      try {
        const outcome = await deliver(signal)
        problem = undefined
        return outcome
      } catch (error) {
        problem = reasonOf(error)
        throw error
      }
    },
  }
}
