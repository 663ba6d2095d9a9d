import type { ImsiHash } from './drivers.ts'
import type { Technology } from './policy.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { MutationTx, Tx } from './store.ts'

/** One session (PDN connection, PDU session) as a source saw it. Times are ms since the epoch. */
export interface SessionSighting {
  readonly imsi: ImsiHash
  /** APN (TS 23.003 clause 9.1, network identifier) or DNN. */
  readonly apn: string
  /** `999-99` */
  readonly plmn: string | undefined
  /** IPv4 address of the UE in dotted form; undefined when it has none or the source does not know it. */
  readonly address: string | undefined
  /** The UE's IPv6 prefix in RFC 5952 form with its length: `2001:db8:0:1::/64`. */
  readonly prefix: string | undefined
  readonly technology: Technology
  /** Cell identity as the core writes it (E-UTRA CI or NR CI with PLMN); undefined where unknown. */
  readonly cell: string | undefined
  readonly state: 'active' | 'idle' | 'ended'
  /** The source's own name of the session, stable while it lives, not used again for another one within a run of the core. */
  readonly reference: string
  /** When it began, where the source knows. */
  readonly startedAtMs: number | undefined
  readonly seenAtMs: number
}

/** Whose octets a volume counts. */
export type VolumeKey =
  /** A session by the reference that a sighting of `source` carries (the collector's own when left out). */
  | { readonly by: 'session'; readonly reference: string; readonly source?: string }
  /** Whoever held this IPv4 address, or IPv6 prefix `…/64`, in the volume's span. */
  | { readonly by: 'address'; readonly address: string }
  /** The subscriber; with the APN where it is known. */
  | { readonly by: 'imsi'; readonly imsi: ImsiHash; readonly apn?: string }

/** Octets of inner IP packets. */
export interface Volume {
  readonly key: VolumeKey
  readonly upBytes: number
  readonly downBytes: number
  /** The octets moved in [fromMs, toMs). `fromMs` of a total is the beginning of its counter where that is known. */
  readonly fromMs: number
  readonly toMs: number
  /**
   * `delta`: octets since the position that the poll was given. A total: what a counter reads; only its growth counts, and
   * a counter of another generation (the source has begun again) counts from 0. `isBeginning`: it had counted before anybody
   * here asked, as one that an earlier installation left; where it is not known yet, its growth counts from this reading.
   */
  readonly count:
    | 'delta'
    | { readonly counter: string; readonly generation: string; readonly isBeginning?: boolean }
  /** Some octets of this span may be missing (dropped packets, a torn file). */
  readonly isIncomplete: boolean
}

/** What one poll gives. */
export interface Collection {
  readonly sightings: readonly SessionSighting[]
  /** Every live session of this source is among the sightings: those that are not have ended. */
  readonly isWhole: boolean
  /**
   * Technologies of which it could not be seen what there is, while it could of others: their sessions go on as they were, and the
   * source is known up to when it last saw all.
   */
  readonly unseen?: readonly Technology[]
  readonly volumes: readonly Volume[]
  /** Kept with the volumes in one commit and given back at the next poll; undefined: the one before stays. */
  readonly position: string | undefined
  /** What the source knows that it has missed since the position. */
  readonly lost: { readonly packets: number; readonly fromMs: number; readonly toMs: number } | undefined
  /** A generation of the source's counters that it will never name again: how far they were counted need not be kept. */
  readonly over?: string
}

/** Nothing was seen, and nothing is said of the position. */
export const NOTHING_COLLECTED: Collection = {
  sightings: [],
  isWhole: false,
  volumes: [],
  position: undefined,
  lost: undefined,
}

/** The sum of octets, at most the largest whole number that JSON carries exactly (2^53 − 1). */
export function sumOctets(...octets: readonly number[]): number {
  return Math.min(
    octets.reduce((all, each) => all + each, 0),
    Number.MAX_SAFE_INTEGER,
  )
}

/**
 * Translates what one source knows; joins nothing, keeps nothing that must last. Whatever crashes, an octet counts once:
 * deltas by the position that is kept in the commit that counts them, totals by their counter.
 */
export interface Collector {
  /** `^[a-z][a-z0-9-]*$`; the order in which sources count goes by it: `gtpu`, `cdr`, `mme`, `amf`, … */
  readonly source: string
  /** Position: of the last collection that was counted; undefined before the first. May be asked again with an older one. */
  poll(position: string | undefined, signal: AbortSignal): Promise<Collection>
  /** Component health beside what the owner of polls sees (drops, a helper process that died). Optional. */
  health?(): { readonly status: 'ok' | 'degraded' | 'down'; readonly detail: string }
}
/** Each collector provides its service under `collector.<plugin id>`. */
export function collectorRef(pluginId: string): ServiceRef<Collector> {
  return serviceRef<Collector>(`collector.${pluginId}`, {
    source: 'string',
    poll: 'function',
    health: 'function?',
  })
}

/** Takes what collectors have seen: provided by sessions, called by collectors (the owner of polls). */
export interface CollectionConsumer {
  /** The position of that source's last counted collection. */
  position(source: string): Promise<string | undefined>
  /** Counted, with its position, in one commit when it resolves; all collections of one round together. */
  take(collections: ReadonlyMap<string, Collection>, signal: AbortSignal): Promise<void>
}
export const collectionConsumerRef: ServiceRef<CollectionConsumer> = serviceRef<CollectionConsumer>(
  'collectors.consumer',
  { position: 'function', take: 'function' },
)

/** Octets of one subscriber. */
export interface UsageTotals {
  readonly upBytes: number
  readonly downBytes: number
  readonly isIncomplete: boolean
}
/**
 * What came to count of one subscriber. The span lies within one hour of the ledger. Octets are negative where a better source
 * has come later than a worse one and saw less.
 */
export interface UsageIncrement extends UsageTotals {
  readonly imsi: ImsiHash
  readonly source: string
  readonly fromMs: number
  readonly toMs: number
}
/** The usage ledger: hourly rows per subscriber and source. Hours are those of the node's time zone. */
export interface UsageLedger {
  /** What counts in [fromMs, toMs), by the order of sources, and what each source saw. */
  totals(
    imsi: ImsiHash,
    fromMs: number,
    toMs: number,
  ): Promise<UsageTotals & { readonly bySource: ReadonlyMap<string, UsageTotals> }>
  /** As `totals`, in a transaction of the caller's: with what it has counted itself, and nothing that comes later. */
  totalsIn(
    tx: Tx,
    imsi: ImsiHash,
    fromMs: number,
    toMs: number,
  ): Promise<UsageTotals & { readonly bySource: ReadonlyMap<string, UsageTotals> }>
  /** Octets of both directions that count in [fromMs, toMs), of those that have any; in `tx` when it is given. */
  sums(
    imsis: readonly ImsiHash[],
    fromMs: number,
    toMs: number,
    tx?: Tx,
  ): Promise<ReadonlyMap<ImsiHash, number>>
  series(
    imsi: ImsiHash,
    fromMs: number,
    toMs: number,
    step: 'hour' | 'day',
  ): Promise<readonly (UsageTotals & { readonly atMs: number })[]>
  /**
   * Adds a submission in the caller's mutation (source `submission:<name>`). The caller knows that it comes once. Of one subscriber
   * and hour sixteen names are told apart; what others submit counts as of `submission:other`. What was used at another box (source
   * `visit:<name>`) counts whole, whatever was seen here at that time.
   */
  submit(tx: MutationTx, imsi: ImsiHash, source: string, totals: UsageTotals, atMs: number): Promise<void>
  /** Octets of all subscribers, in both directions, since midnight in the node's time zone. */
  today?(): Promise<number>
  /** Up to when all usage is known; undefined while no collector has counted any. `reason`: why it is not now. */
  knownUntil(): { readonly atMs: number | undefined; readonly reason: string | undefined }
}
export const usageLedgerRef: ServiceRef<UsageLedger> = serviceRef<UsageLedger>('sessions.usage', {
  totals: 'function',
  totalsIn: 'function',
  sums: 'function',
  series: 'function',
  submit: 'function',
  today: 'function?',
  knownUntil: 'function',
})

/** Hears what comes to count, in the very transaction that counts it (join your own tables with `Db.join`). */
export interface UsageListener {
  counted(tx: Tx, increments: readonly UsageIncrement[]): Promise<void>
}
export const usageListenerRef: ServiceRef<UsageListener> = serviceRef<UsageListener>('usage.listener', {
  counted: 'function',
})
