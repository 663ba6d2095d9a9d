import type { KeyObject } from 'node:crypto'
import { createAuditChain } from '@steeple/audit'
import { agoMs, type WindowClock } from '@steeple/clock'
import type { Reply, TraceParent, Vault } from '@steeple/contracts'
import type { SharedStore } from '@steeple/reconcile'
import { type Database, type SqlGuard, sqlGuard, type WriterTx } from '@steeple/store'
import { createTracing, type Tracing } from '@steeple/telemetry'
import { createIdempotencyStore, isKeepable, sweepIdempotency } from './idempotency.ts'
import type { Mutation, MutationResult, Mutations, RateState } from './mutations.ts'
import { sweepOutbox } from './outbox.ts'
import { sweepRates, takeRate } from './rate-limit.ts'
import { createRecords } from './records.ts'
import { observedTx, type WorkEvent, type WorkFacts, workTx } from './work-tx.ts'

/** What the mutation path needs. */
export interface MutationOptions {
  readonly db: Database
  readonly vault: Vault
  readonly clock: WindowClock
  /** Signs head and checkpoints of the audit trail; must stay the same over the life of the store. */
  readonly auditKey: KeyObject
  /** The limits in force, by name, per hour. A name that it lacks is not limited. */
  limits(): Readonly<Record<string, number>>
  /** Called after the commit for each key that `work` called dirty. */
  onDirty(resource: string, key: string, isUrgent: boolean, trace: TraceParent | undefined): void
  /** Called once after each commit that added events, with their types: `OutboxFeed.committed`. */
  onEvents(types: ReadonlySet<string>): void
  /** Where instances share the store. */
  readonly shared?: SharedStore | undefined
  /** Each mutation is a span where there is a tracer. */
  readonly tracing?: Tracing
  /** How long events are kept, ms; a week when absent. */
  readonly outboxKeepMs?: number
}

const WEEK_MS = 7 * 86_400_000
/** What is observed may be of a whole network at once: on a busy machine that takes longer than a mutation may. */
const OBSERVED_LIMIT_MS = 30_000

/** How a job of the writer ended: a failure is committed too, with its audit entry. */
type Ended = MutationResult | { readonly error: unknown }

/** The one mutation path over the store. */
export function createMutations(options: MutationOptions): Mutations {
  const { db, clock, tracing = createTracing() } = options
  const chain = createAuditChain(options.auditKey)
  const idempotency = createIdempotencyStore(options.vault)
  const records = createRecords(options, { chain, idempotency })
  const guardOf = createGuards()

  async function apply(tx: WriterTx, mutation: Mutation, trace: TraceParent | undefined): Promise<Ended> {
    const { target } = mutation
    const facts: WorkFacts = { target, detail: undefined, event: undefined, told: [], dirty: [] }
    let rate: RateState | undefined
    let reply: Reply
    try {
      rate = await limited(tx, mutation, options)
      reply = await tx.attempt(() => mutation.work(workTx(tx, guardOf(mutation.owner), facts)))
    } catch (error) {
      await records.failure(tx, mutation, error, facts.detail)
      return { error }
    }
    await records.success(tx, mutation, { ...facts, trace }, reply)
    return { reply, rate }
  }

  /** The job itself was undone (it took too long, its commit failed, its key was taken), and its audit entry with it. */
  async function auditUndone(mutation: Mutation, error: unknown): Promise<never> {
    // A store that takes no writes refuses this one too; the caller gets the first reason.
    await db.transact((tx) => records.failure(tx, mutation, error)).catch(() => undefined)
    throw error
  }

  return {
    run: async (mutation) => {
      const { action = 'unaudited', owner } = mutation
      const facts = { name: `mutation ${action}`, attributes: { 'svc.action': action, 'svc.plugin': owner } }
      return await tracing.span(facts, async (span) => {
        const ended = await db
          .transact((tx) => apply(tx, mutation, span?.traceparent))
          .catch((error: unknown) => auditUndone(mutation, error))
        if ('error' in ended) throw ended.error
        return ended
      })
    },
    observe: (owner, work) =>
      db.transact(async (tx) => {
        const events: WorkEvent[] = []
        const result = await work(observedTx(tx, guardOf(owner), events))
        await records.observed(tx, events)
        return result
      }, OBSERVED_LIMIT_MS),
    refuse: ({ requestId, detail, ...entry }) =>
      db.transact((tx) => chain.append(tx, { ...entry, requestId, detail, atMs: clock.nowMs() })),
    take: async (of) => {
      const refused = await db.transact(async (tx) => {
        try {
          await limited(tx, of, options)
          return undefined
        } catch (error) {
          await records.failure(tx, of, error)
          return { error }
        }
      })
      if (refused !== undefined) throw refused.error
    },
    stored: (scope) => idempotency.stored(db, scope, clock),
    keep: async (claim, reply) => {
      if (isKeepable(reply)) await db.transact((tx) => idempotency.put(tx, claim, reply, clock.nowMs()))
    },
    sweep: async () => {
      // What is old by a clock that leapt may be of today.
      if (clock.doubt?.() !== undefined) return
      await sweepIdempotency(db, clock)
      await sweepRates(db, clock)
      await sweepOutbox(db, agoMs(clock, options.outboxKeepMs ?? WEEK_MS))
    },
  }
}

async function limited(
  tx: WriterTx,
  { principal, rateLimit }: Pick<Mutation, 'principal' | 'rateLimit'>,
  { limits, clock }: Pick<MutationOptions, 'limits' | 'clock'>,
): Promise<RateState | undefined> {
  if (rateLimit === undefined) return undefined
  const limit = limits()[rateLimit.name]
  return limit === undefined
    ? undefined
    : await takeRate(tx, principal, rateLimit.name, rateLimit.cost, limit, clock)
}

/** What each owner may say in SQL, made once. */
function createGuards(): (owner: string) => SqlGuard {
  const guards = new Map<string, SqlGuard>()
  return (owner) => {
    const known = guards.get(owner)
    if (known !== undefined) return known
    const fresh = sqlGuard(owner)
    guards.set(owner, fresh)
    return fresh
  }
}
