import type { createAuditChain } from '@steeple/audit'
import { createPause, isServiceError, type Reply, type TraceParent } from '@steeple/contracts'
import type { WriterTx } from '@steeple/store'
import type { MutationOptions } from './create-mutations.ts'
import { type IdempotencyStore, isKeepable } from './idempotency.ts'
import type { Mutation } from './mutations.ts'
import { createOutboxWriter } from './outbox.ts'
import type { WorkEvent, WorkFacts } from './work-tx.ts'

/** What is written beside the work of a mutation, in its transaction. */
export interface Records {
  /** The audit entry of one that failed; `said` is what its work had said until then. */
  failure(
    tx: WriterTx,
    mutation: Pick<Mutation, 'action' | 'principal' | 'target' | 'requestId'>,
    error: unknown,
    said?: WorkFacts['detail'],
  ): Promise<void>
  /** The reply to keep, events, the audit entry, and the keys to look at. */
  success(
    tx: WriterTx,
    mutation: Mutation,
    facts: WorkFacts & { readonly trace: TraceParent | undefined },
    reply: Reply,
  ): Promise<void>
  /** The events of what was observed. */
  observed(tx: WriterTx, events: readonly WorkEvent[]): Promise<void>
}

/** Where records go beside the outbox. */
export interface RecordParts {
  readonly chain: ReturnType<typeof createAuditChain>
  readonly idempotency: IdempotencyStore
}

/** Makes them. */
export function createRecords(
  { clock, shared, onDirty, onEvents }: Pick<MutationOptions, 'clock' | 'shared' | 'onDirty' | 'onEvents'>,
  { chain, idempotency }: RecordParts,
): Records {
  const outbox = createOutboxWriter((types) => onEvents(types))
  return {
    failure: async (tx, { action, principal, target, requestId }, error, said) => {
      if (action === undefined) return
      const outcome = outcomeOf(error)
      const detail = { ...said, error: isServiceError(error) ? error.code : 'internal' }
      await chain.append(tx, { atMs: clock.nowMs(), principal, action, target, outcome, requestId, detail })
    },
    success: async (tx, mutation, facts, reply) => {
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
    },
    observed: async (tx, events) => {
      const atMs = clock.nowMs()
      const pause = createPause()
      for (const { type, subject, data = {} } of events) {
        await outbox.append(tx, { atMs, type, subject, data })
        await pause()
      }
      if (events.length > 0) await shared?.announce(tx)
    },
  }
}

/** HTTP statuses that say "you may not": the attempt was refused rather than gone wrong. */
const REFUSALS: readonly number[] = [401, 403, 429]

function outcomeOf(error: unknown): 'denied' | 'failed' {
  return isServiceError(error) && REFUSALS.includes(error.status) ? 'denied' : 'failed'
}
