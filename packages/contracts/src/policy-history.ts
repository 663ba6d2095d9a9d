import type { RadioProfile } from './policy.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { TimeSpan } from './session-history.ts'
import type { Tx } from './store.ts'

// ---- provided by policy ----

/** One revision of the policy. */
export interface PolicyRevision {
  readonly revision: number
  readonly atMs: number
  /** Who made it: `user:<id>/<name>`. */
  readonly by: string
  /** JSON pointers of what differs from the revision before; empty where that is not kept any more. */
  readonly changed: readonly string[]
}
/** One time in which TX was armed with the same profile and license. */
export interface TxInterval {
  readonly id: string
  readonly profileId: string
  /** As it was armed. */
  readonly profile: RadioProfile
  readonly country: string
  readonly licenseReference: string | null
  readonly licenseHolder: string | null
  readonly startedAtMs: number
  readonly startedBy: string
  /** Nulls while it lasts. */
  readonly endedAtMs: number | null
  readonly endedBy: string | null
  readonly endReason: string | null
}
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
