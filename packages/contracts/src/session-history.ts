import type { ImsiHash } from './drivers.ts'
import type { RecordedSession, TimeSpan } from './record-types.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'

// ---- provided by sessions ----

/** Sessions of the past and of now. */
export interface SessionHistory {
  /**
   * A page of those that reach into a span, behind the session `after`, in the order in which they were first seen. It may be
   * empty before the end: ask on behind `next` until that is undefined. Throws `store_corrupt`.
   */
  page(
    span: TimeSpan,
    after: number,
    limit: number,
  ): Promise<{ readonly sessions: readonly RecordedSession[]; readonly next: number | undefined }>
  /** Those of one SIM that reach into a span, at most 100, the newest first. Throws `store_corrupt`. */
  of?(imsi: ImsiHash, span: TimeSpan): Promise<readonly RecordedSession[]>
}
export const sessionHistoryRef: ServiceRef<SessionHistory> = serviceRef<SessionHistory>('sessions.history', {
  page: 'function',
  of: 'function?',
})
