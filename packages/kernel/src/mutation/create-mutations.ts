import type { KeyObject } from 'node:crypto'
import {
  createPause,
  DEFAULT_RATE_LIMITS,
  defineTable,
  isServiceError,
  type MutationTx,
  type ObservedTx,
  type Principal,
  type Reply,
  rateLimited,
  type ServiceError,
  type Table,
  type TraceParent,
  type Vault,
} from '@steeple/contracts'
import { type Database, limitedTx, type SqlGuard, sqlGuard, type WriterTx } from '@steeple/store'
import { createAuditChain } from '../audit/audit-chain.ts'
import { agoMs, type WindowClock } from '../clock/deadline.ts'
import type { SharedStore } from '../reconcile/cluster.ts'
import { createTracing, type Tracing } from '../telemetry/tracing.ts'
import { createIdempotencyStore, type IdempotencyStore, isKeepable, sweepIdempotency } from './idempotency.ts'
import type { Mutation, MutationResult, Mutations, RateState } from './mutations.ts'
import { createOutboxWriter, type OutboxWriter, sweepOutbox } from './outbox.ts'

interface RateRow {
  readonly name: string
  readonly started_at_ms: number
  readonly used: number
}

export const RATE: Table<RateRow> = defineTable('kernel_rate', ['name', 'started_at_ms', 'used'], ['name'])
/** The limits of the policy are per hour. */
const WINDOW_MS = 3_600_000
const REMOVE_EXPIRED = 'delete from kernel_rate where started_at_ms <= :before'

/** A `rate_limited` error also says what the limit said, for the RateLimit header fields. */
export type RateLimitedError = ServiceError & { readonly rate: RateState }

/** One take: how much of which limit. */
interface RateRequest {
  readonly name: string
  readonly cost: number
  readonly limit: number
}

/**
 * Takes from what `principal` may use of a limit, in the caller's transaction. The window starts with the first take and
 * lasts an hour. Throws `rate_limited` (a `RateLimitedError`) when not enough is left; then nothing is taken. A cost of 0
 * is never refused.
 */
async function takeRate(
  tx: WriterTx,
  principal: Principal,
  { name, cost, limit }: RateRequest,
  clock: WindowClock,
): Promise<RateState> {
  const key = `${name} ${principal.kind}:${principal.id}`
  const stored = await RATE.find(tx, { name: key })
  const nowMs = clock.nowMs()
  // A clock that was set back starts a new window rather than a very long one.
  const isLive =
    stored !== undefined && nowMs >= stored.started_at_ms && stored.started_at_ms > agoMs(clock, WINDOW_MS)
  const window = isLive ? stored : { name: key, started_at_ms: nowMs, used: 0 }
  const resetS = Math.ceil((window.started_at_ms - agoMs(clock, WINDOW_MS)) / 1_000)
  const remaining = Math.max(0, limit - window.used)
  if (cost > remaining) throw refusal(name, cost, { limit, remaining, resetS })
  if (cost > 0) await RATE.put(tx, { ...window, used: window.used + cost })
  return { limit, remaining: remaining - cost, resetS }
}

function refusal(name: string, cost: number, rate: RateState): RateLimitedError {
  const error = rateLimited(
    `${name}: ${cost} were asked for, and ${rate.remaining} of ${rate.limit} an hour are left for the next ${rate.resetS} s; the rules (PUT /v1/policy) raise it`,
    { retryAfterS: rate.resetS },
  )
  return Object.assign(error, { rate })
}

/** Removes windows that are over. */
async function sweepRates(db: Database, clock: WindowClock): Promise<void> {
  await db.transact((tx) => tx.run(REMOVE_EXPIRED, { before: agoMs(clock, WINDOW_MS) }))
}

type Limits = Readonly<Record<string, number>>

/** The limits by name: `sim_issue` from `sim_issue_per_hour` of a policy. */
export function limitsOf(perHour: Limits | undefined): Limits {
  const said = Object.entries(perHour ?? {}).map(([name, limit]) => [name.replace(/_per_hour$/, ''), limit])
  return { ...DEFAULT_RATE_LIMITS, ...Object.fromEntries(said) }
}

interface MutationOptions {
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

/** An event as a mutation gives it. */
type WorkEvent = Parameters<MutationTx['event']>[0]

/** What the work of a mutation has said about itself. */
interface WorkFacts {
  target: string
  /** Who it was, where the work has found that out. */
  principal?: Principal
  detail: Readonly<Record<string, unknown>> | undefined
  event: WorkEvent | undefined
  /** Behind `event`, in the order in which they were told. */
  readonly told: WorkEvent[]
  readonly dirty: { readonly resource: string; readonly key: string; readonly isUrgent: boolean }[]
}

/** Where is written down what was done. */
interface Records extends Pick<MutationOptions, 'clock' | 'shared' | 'onDirty' | 'limits'> {
  readonly chain: ReturnType<typeof createAuditChain>
  readonly idempotency: IdempotencyStore
  readonly outbox: OutboxWriter
}

/** How a job of the writer ended: a failure is committed too, with its audit entry. */
type Ended = MutationResult | { readonly error: unknown }

/** The one mutation path over the store. */
export function createMutations(options: MutationOptions): Mutations {
  const { db, clock, tracing = createTracing() } = options
  const records = recordsOf(options)
  const guardOf = createGuards()

  async function apply(tx: WriterTx, mutation: Mutation, trace: TraceParent | undefined): Promise<Ended> {
    const { target } = mutation
    const facts: WorkFacts = { target, detail: undefined, event: undefined, told: [], dirty: [] }
    let result: MutationResult
    try {
      result = await attempted(records, tx, mutation, workTx(tx, guardOf(mutation.owner), facts))
    } catch (error) {
      await recordFailure(records, tx, mutation, error, facts.detail)
      return { error }
    }
    await recordSuccess(records, tx, mutation, { ...facts, trace }, result.reply)
    return result
  }

  /** The job itself was undone (it took too long, its commit failed, its key was taken), and its audit entry with it. */
  async function auditUndone(mutation: Mutation, error: unknown): Promise<never> {
    // A store that takes no writes refuses this one too; the caller gets the first reason.
    await db.transact((tx) => recordFailure(records, tx, mutation, error)).catch(() => undefined)
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
        await recordEvents(records, tx, events)
        return result
      }, OBSERVED_LIMIT_MS),
    refuse: ({ requestId, detail, ...entry }) =>
      db.transact((tx) => records.chain.append(tx, { ...entry, requestId, detail, atMs: clock.nowMs() })),
    take: async (of) => {
      const refused = await db.transact(async (tx) => {
        try {
          await limited(tx, of, records)
          return undefined
        } catch (error) {
          await recordFailure(records, tx, of, error)
          return { error }
        }
      })
      if (refused !== undefined) throw refused.error
    },
    stored: (scope) => records.idempotency.stored(db, scope, clock),
    keep: async (claim, reply) => {
      if (isKeepable(reply))
        await db.transact((tx) => records.idempotency.put(tx, claim, reply, clock.nowMs()))
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

/** The one mutation path without a service: nobody is limited, and nobody waits for what changes. */
export function offlineMutations(
  parts: Pick<MutationOptions, 'db' | 'vault' | 'clock' | 'auditKey'>,
): Mutations {
  const nobody = (): void => undefined
  return createMutations({ ...parts, limits: () => ({}), onDirty: nobody, onEvents: nobody })
}

function recordsOf(options: MutationOptions): Records {
  return {
    ...options,
    chain: createAuditChain(options.auditKey),
    idempotency: createIdempotencyStore(options.vault),
    outbox: createOutboxWriter((types) => options.onEvents(types)),
  }
}

/** Takes from the limit of a mutation and does its work. */
async function attempted(
  records: Records,
  tx: WriterTx,
  mutation: Mutation,
  said: MutationTx,
): Promise<MutationResult> {
  const isOfSuccess = mutation.rateLimit?.isOfSuccess === true
  const before = isOfSuccess ? undefined : await limited(tx, mutation, records)
  return await tx.attempt(async () => {
    const reply = await mutation.work(said)
    return { reply, rate: isOfSuccess ? await limited(tx, mutation, records) : before }
  })
}

async function limited(
  tx: WriterTx,
  { principal, rateLimit }: Pick<Mutation, 'principal' | 'rateLimit'>,
  { limits, clock }: Pick<MutationOptions, 'limits' | 'clock'>,
): Promise<RateState | undefined> {
  if (rateLimit === undefined) return undefined
  const limit = limits()[rateLimit.name]
  return limit === undefined ? undefined : await takeRate(tx, principal, { ...rateLimit, limit }, clock)
}

/** What each owner may say in SQL, made once. */
function createGuards(): (owner: string) => SqlGuard {
  const guards = new Map<string, SqlGuard>()
  return (owner) => {
    const guard = guards.get(owner) ?? sqlGuard(owner)
    guards.set(owner, guard)
    return guard
  }
}

/** The transaction that the work of a mutation gets; what it says is written into `facts`. */
function workTx(tx: WriterTx, guard: SqlGuard, facts: WorkFacts): MutationTx {
  const said: Pick<MutationTx, 'audit' | 'event' | 'tell' | 'dirty'> = {
    audit: ({ target, detail, principal }) => {
      if (principal !== undefined) facts.principal = principal
      if (target !== undefined) facts.target = target
      if (detail !== undefined) facts.detail = { ...facts.detail, ...detail }
    },
    event: (event) => {
      facts.event = event
    },
    tell: (event) => {
      facts.told.push(event)
    },
    dirty: (resource, key, isUrgent = false) => {
      facts.dirty.push({ resource, key, isUrgent })
    },
  }
  return Object.assign(limitedTx(tx, guard), said)
}

/** The transaction that writes what was observed; its events are collected in `events`. */
function observedTx(tx: WriterTx, guard: SqlGuard, events: WorkEvent[]): ObservedTx {
  return Object.assign(limitedTx(tx, guard), { event: (event: WorkEvent) => void events.push(event) })
}

/** The audit entry of a mutation that failed; `said` is what its work had said until then. */
async function recordFailure(
  { chain, clock }: Records,
  tx: WriterTx,
  { action, principal, target, requestId }: Pick<Mutation, 'action' | 'principal' | 'target' | 'requestId'>,
  error: unknown,
  said?: WorkFacts['detail'],
): Promise<void> {
  if (action === undefined) return
  const outcome = outcomeOf(error)
  const detail = { ...said, error: isServiceError(error) ? error.code : 'internal' }
  await chain.append(tx, { atMs: clock.nowMs(), principal, action, target, outcome, requestId, detail })
}

/** The reply to keep, events, the audit entry, and the keys to look at. */
async function recordSuccess(
  { chain, clock, idempotency, onDirty, outbox, shared }: Records,
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
    const own = facts.event ?? { type: action, subject: target }
    for (const { type, subject, data = {} } of [own, ...facts.told])
      await outbox.append(tx, { atMs, type, subject, data })
    await chain.append(tx, { atMs, principal, action, target, outcome: 'ok', requestId, detail })
    await shared?.announce(tx)
  }
  if (facts.dirty.length === 0) return
  const { dirty, trace } = facts
  await shared?.leave(tx, trace === undefined ? dirty : dirty.map((key) => ({ ...key, trace })))
  tx.afterCommit(() => {
    for (const { resource, key, isUrgent } of dirty) onDirty(resource, key, isUrgent, trace)
  })
}

/** The events of what was observed. */
async function recordEvents(
  { clock, outbox, shared }: Records,
  tx: WriterTx,
  events: readonly WorkEvent[],
): Promise<void> {
  const atMs = clock.nowMs()
  const pause = createPause()
  for (const { type, subject, data = {} } of events) {
    await outbox.append(tx, { atMs, type, subject, data })
    await pause()
  }
  if (events.length > 0) await shared?.announce(tx)
}

/** HTTP statuses that say "you may not": the attempt was refused rather than gone wrong. */
const REFUSALS: readonly number[] = [401, 403, 429]

function outcomeOf(error: unknown): 'denied' | 'failed' {
  return isServiceError(error) && REFUSALS.includes(error.status) ? 'denied' : 'failed'
}
