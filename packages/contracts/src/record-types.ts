import type { ImsiHash } from './drivers.ts'
import type { RadioProfile } from './policy.ts'

/** A span of time, ms since the epoch: from `fromMs` on, before `toMs`. */
export interface TimeSpan {
  readonly fromMs: number
  readonly toMs: number
}

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
