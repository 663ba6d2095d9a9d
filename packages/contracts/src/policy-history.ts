import type { PolicyRevision, TimeSpan, TxInterval } from './record-types.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { Tx } from './store.ts'

// ---- provided by policy ----

/** What the policy was, and when TX was armed. Pages by key, oldest first. Throws `store_corrupt`. */
export interface PolicyHistory {
  /** Revisions made in a span, at most `limit`, behind revision `after`. */
  revisions(span: TimeSpan, after: number, limit: number): Promise<readonly PolicyRevision[]>
  /** Intervals that reach into a span, at most `limit`, behind the interval `after`. */
  intervals(
    span: TimeSpan,
    after: Pick<TxInterval, 'startedAtMs' | 'id'> | undefined,
    limit: number,
  ): Promise<readonly TxInterval[]>
  /** Removes at most `limit` intervals that ended before that time, the oldest first, and gives them. */
  takeIntervals(tx: Tx, endedBeforeMs: number, limit: number): Promise<readonly TxInterval[]>
}
export const policyHistoryRef: ServiceRef<PolicyHistory> = serviceRef<PolicyHistory>('policy.history', {
  revisions: 'function',
  intervals: 'function',
  takeIntervals: 'function',
})
