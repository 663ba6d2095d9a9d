import type { KeyObject } from 'node:crypto'
import { createAuditChain } from '@steeple/audit'
import { agoMs, type WindowClock } from '@steeple/clock'
import { createPause, isServiceError, type Reply, type TraceParent, type Vault } from '@steeple/contracts'
import type { SharedStore } from '@steeple/reconcile'
import { type Database, type SqlGuard, sqlGuard, type WriterTx } from '@steeple/store'
import { createTracing, type Tracing } from '@steeple/telemetry'
import { createIdempotencyStore, isKeepable, sweepIdempotency } from './idempotency.ts'
import type { Mutation, MutationResult, Mutations, RateState } from './mutations.ts'
import { createOutboxWriter, sweepOutbox } from './outbox.ts'
import { sweepRates, takeRate } from './rate-limit.ts'
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
  const outbox = createOutboxWriter((types) => options.onEvents(types))
  const idempotency = createIdempotencyStore(options.vault)
  const guards = new Map<string, SqlGuard>()

  const guardOf = (owner: string): SqlGuard => {
    const known = guards.get(owner)
    if (known !== undefined) return known
    const fresh = sqlGuard(owner)
    guards.set(owner, fresh)
    return fresh
  }

  async function apply(tx: WriterTx, mutation: Mutation, trace: TraceParent | undefined): Promise<Ended> {
    const facts: WorkFacts = {
      ...{ target: mutation.target, detail: undefined, event: undefined },
      ...{ told: [], dirty: [] },
    }
    let rate: RateState | undefined
    let reply: Reply
    try {
      rate = await limited(tx, mutation)
      reply = await tx.attempt(() => mutation.work(workTx(tx, guardOf(mutation.owner), facts)))
    } catch (error) {
      await recordFailure(tx, mutation, error, facts.detail)
      return { error }
    }
    await recordSuccess(tx, mutation, { ...facts, trace }, reply)
    return { reply, rate }
  }

  async function limited(
    tx: WriterTx,
    { principal, rateLimit }: Pick<Mutation, 'principal' | 'rateLimit'>,
  ): Promise<RateState | undefined> {
    if (rateLimit === undefined) return undefined
    const limit = options.limits()[rateLimit.name]
    return limit === undefined
      ? undefined
      : takeRate(tx, principal, rateLimit.name, rateLimit.cost, limit, clock)
  }

  async function recordFailure(
    tx: WriterTx,
    mutation: Pick<Mutation, 'action' | 'principal' | 'target' | 'requestId'>,
    error: unknown,
    said?: WorkFacts['detail'],
  ): Promise<void> {
    const { action, principal, target, requestId } = mutation
    if (action === undefined) return
    const outcome = outcomeOf(error)
    const detail = { ...said, error: isServiceError(error) ? error.code : 'internal' }
    await chain.append(tx, { atMs: clock.nowMs(), principal, action, target, outcome, requestId, detail })
  }

  async function recordSuccess(
    tx: WriterTx,
    mutation: Mutation,
    facts: WorkFacts & { readonly trace: TraceParent | undefined },
    reply: Reply,
  ): Promise<void> {
    const { action, requestId } = mutation
    const { target, detail, principal = mutation.principal } = facts
    const atMs = clock.nowMs()
    if (mutation.idempotency !== undefined && isKeepable(reply))
      await idempotency.claim(tx, mutation.idempotency, reply, clock)
    if (action !== undefined) {
      for (const { type, subject, data = {} } of [
        facts.event ?? { type: action, subject: target },
        ...facts.told,
      ])
        await outbox.append(tx, { atMs, type, subject, data })
      await chain.append(tx, { atMs, principal, action, target, outcome: 'ok', requestId, detail })
    }
    if (action !== undefined) await options.shared?.announce(tx)
    if (facts.dirty.length === 0) return
    const { dirty, trace } = facts
    await options.shared?.leave(tx, trace === undefined ? dirty : dirty.map((key) => ({ ...key, trace })))
    tx.afterCommit(() => {
      for (const { resource, key, isUrgent } of dirty) options.onDirty(resource, key, isUrgent, trace)
    })
  }

  /** The job itself was undone (it took too long, its commit failed, its key was taken), and its audit entry with it. */
  async function auditUndone(mutation: Mutation, error: unknown): Promise<never> {
    // A store that takes no writes refuses this one too; the caller gets the first reason.
    await db.transact((tx) => recordFailure(tx, mutation, error)).catch(() => undefined)
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
        const atMs = clock.nowMs()
        const pause = createPause()
        for (const { type, subject, data = {} } of events) {
          await outbox.append(tx, { atMs, type, subject, data })
          await pause()
        }
        if (events.length > 0) await options.shared?.announce(tx)
        return result
      }, OBSERVED_LIMIT_MS),
    refuse: ({ requestId, detail, ...entry }) =>
      db.transact((tx) => chain.append(tx, { ...entry, requestId, detail, atMs: clock.nowMs() })),
    take: async (of) => {
      const refused = await db.transact(async (tx) => {
        try {
          await limited(tx, of)
          return undefined
        } catch (error) {
          await recordFailure(tx, of, error)
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

/** HTTP statuses that say "you may not": the attempt was refused rather than gone wrong. */
const REFUSALS: readonly number[] = [401, 403, 429]

function outcomeOf(error: unknown): 'denied' | 'failed' {
  return isServiceError(error) && REFUSALS.includes(error.status) ? 'denied' : 'failed'
}
