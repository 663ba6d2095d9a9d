import type { ImsiHash } from './drivers.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'

/** A span of time, ms since the epoch: from `fromMs` on, before `toMs`. */
export interface TimeSpan {
  readonly fromMs: number
  readonly toMs: number
}

// ---- provided by sessions ----

/** A session as it is recorded. Octets are those of the best source. */
export interface RecordedSession {
  readonly id: number
  readonly imsi: ImsiHash
  readonly apn: string
  readonly plmn: string | null
  /** IPv4 address or IPv6 prefix of the phone. */
  readonly address: string | null
  readonly technology: string
  readonly cell: string | null
  readonly source: string
  readonly startedAtMs: number
  /** Null while it lasts. */
  readonly endedAtMs: number | null
  readonly upBytes: number
  readonly downBytes: number
}
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
}
export const sessionHistoryRef: ServiceRef<SessionHistory> = serviceRef<SessionHistory>('sessions.history', {
  page: 'function',
})
