import {
  bootstrapTokensRef,
  boxCallsRef,
  desiredNewsRef,
  nodeCertificatesRef,
  nodeRegistryRef,
  operatorCertificatesRef,
  peeringRef,
} from './box-services.ts'
import { coreDriverRef, hssDriverRef, type ImsiHash, ranDriverRef, subscriberSourcesRef } from './drivers.ts'
import { certificateEndsRef, incidentBoardRef } from './incidents.ts'
import type { Labels, Language } from './plugin.ts'
import type { RadioProfile } from './policy.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import {
  authenticatorRef,
  type ComponentState,
  type LifecycleState,
  lifecycleRef,
  nodeReporterRef,
  policyRef,
  quotaKeeperRef,
  tokenMintRef,
  transmitterRef,
  txGateRef,
} from './services.ts'
import type { Settings } from './settings.ts'
import {
  reachKeeperRef,
  type SubscriberState,
  simIssuerRef,
  simProvisioningRef,
  subscribersRef,
  visitorsRef,
} from './sim-services.ts'
import type { MutationTx, Tx } from './store.ts'
import { collectionConsumerRef, collectorRef, usageLedgerRef, usageListenerRef } from './usage.ts'

// ---- provided by the kernel ----

/** One series of a metric as it stands. */
export interface MetricSample {
  readonly labels: Labels
  /** Of a histogram the sum of what was observed. */
  readonly value: number
  /** Of a histogram how much was observed; absent otherwise. */
  readonly count?: number
}
/** A metric as it stands on this instance. */
export interface MetricReading {
  readonly kind: 'gauge' | 'counter' | 'histogram'
  readonly samples: readonly MetricSample[]
}
/** The metrics of this instance by name, as `/metrics` shows them, without the cost of all the others. */
export interface MetricsReader {
  /** Those of the names that somebody has registered; the base name of a histogram. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, MetricReading>>
}
export const metricsReaderRef: ServiceRef<MetricsReader> = serviceRef<MetricsReader>('kernel.metrics', {
  read: 'function',
})

// ---- provided by nodes ----

/** What the newest heartbeat of a node says. */
export interface AgentView {
  readonly nodeId: string
  readonly name: string
  /** Whether the heartbeat is older than three of its intervals. Contract section 4. */
  readonly isStale: boolean
  readonly silentMs: number
  /** Its clock less this one's when the heartbeat came; what is under way counts as behind. */
  readonly skewMs: number
  /** As `GET /v1/health` shows them: the heartbeat first, `node/<id>`, then what it reported, `node/<id>/<name>`. */
  readonly components: readonly ComponentState[]
  /** What it says of its own outages; absent from one that tells of none. */
  readonly incidents?: readonly {
    readonly kind: string
    readonly severity: string
    readonly title: string
  }[]
}
/** The nodes that have sent a heartbeat. */
export interface AgentWatch {
  agents(): Promise<readonly AgentView[]>
}
export const agentWatchRef: ServiceRef<AgentWatch> = serviceRef<AgentWatch>('nodes.agents', {
  agents: 'function',
})

// ---- provided by a plugin for its alert rules ----

/** Says of the alert rules of its plugin's manifest which subjects are bad now. */
export interface AlertSource {
  /** With the value of each; undefined until it was looked at once. The same object until it is looked at again. */
  bad(rule: string): Promise<ReadonlyMap<string, number> | undefined>
}

/** A place in a trace, as `traceparent` of W3C Trace Context has it: `00-<trace id>-<span id>-<flags>`. */
export type TraceParent = string

/** What a piece of work is, in a trace. No secret, no IMSI and nothing that somebody typed may be in it. */
export interface SpanFacts {
  /** From a closed set: `mutation sim.issue`, `GET /v1/sims/:imsi`. */
  readonly name: string
  /** `server`: in answer to somebody; `client`: it asks somebody else; `internal` when absent. */
  readonly kind?: 'server' | 'client' | 'internal'
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
  /** Under what it goes on; under the work around it when absent. */
  readonly parent?: TraceParent
  /** Of other traces that have to do with it. */
  readonly links?: readonly TraceParent[]
  /** When it began, ms since the epoch, if that was before. */
  readonly startedAtMs?: number
}

/** A piece of work that has begun. */
export interface Span {
  readonly traceparent: TraceParent
  set(name: string, value: string | number | boolean): void
  /** Once; `error` is why it went wrong, of which no more than a code is kept. */
  end(error?: unknown): void
}

/** Keeps traces of what the service does. Nothing of it may throw. */
export interface Tracer {
  /** Whether traces go anywhere: otherwise nobody asks for one. */
  readonly isOn: boolean
  begin(facts: SpanFacts): Span
  /** Does work as a part of a span; of none when it is undefined. */
  within<T>(span: Span | undefined, work: () => T): T
  /** The span that the caller's work is a part of; undefined when that is over, too. */
  current(): TraceParent | undefined
}
export const tracerRef: ServiceRef<Tracer> = serviceRef<Tracer>('tracing.tracer', {
  isOn: 'boolean',
  begin: 'function',
  within: 'function',
  current: 'function',
})

// ---- provided by a plugin that keeps a record for others to check; asked by sims and nodes ----

/** A move of one SIM as it is recorded. */
export interface RecordedSimMove {
  readonly imsi: ImsiHash
  /** Undefined for a new one. */
  readonly from: SubscriberState | undefined
  readonly to: SubscriberState
  /** Why it is suspended; undefined in other states. */
  readonly reason: string | undefined
}
/** A move of a node in its lifecycle as it is recorded. */
interface RecordedNodeMove {
  readonly nodeId: string
  readonly from: LifecycleState
  readonly to: LifecycleState
}
/**
 * Writes moves down in the transaction that makes them, so that neither a crash nor a restart loses one. What happens while
 * nobody provides it is found by comparison once somebody does.
 */
export interface MoveRecorder {
  simsMoved(tx: Tx, moves: readonly RecordedSimMove[]): Promise<void>
  nodeMoved(tx: Tx, move: RecordedNodeMove): Promise<void>
}
export const moveRecorderRef: ServiceRef<MoveRecorder> = serviceRef<MoveRecorder>('moves.recorder', {
  simsMoved: 'function',
  nodeMoved: 'function',
})

// ---- provided by a plugin whose SIMs are downloaded; asked by sims for handouts ----

/** The code of a SIM that a phone downloads, to print. Anyone who sees it can download it. */
export interface PrintedCode {
  /** What the SIM is instead of a card: `eSIM`. */
  readonly kind: string
  /** Its QR code, with white around it. */
  readonly svg: string
  /** What to do with it, until when, as plain text. */
  readonly how: string
}
/** Codes that phones can still scan. */
export interface HandoutCodes {
  /** Of at most a hundred SIMs, those that have one; in the reader's language. Throws `store_corrupt`. */
  printed(imsis: readonly ImsiHash[], language: Language): Promise<ReadonlyMap<ImsiHash, PrintedCode>>
}
export const handoutCodesRef: ServiceRef<HandoutCodes> = serviceRef<HandoutCodes>('handout.codes', {
  printed: 'function',
})

// ---- provided by sims ----

/** What decides whether all that is known of a SIM may go. */
interface SimRemains {
  readonly state: SubscriberState
  /** Whether it was never seen in a core. */
  readonly isUnused: boolean
  /** Why HSS and core still have to hear that it is revoked, for which its IMSI is needed; undefined when they have. */
  readonly waitsFor: string | undefined
}
/** The states of all SIMs, and the end of all that is known of one. Throws `store_corrupt`. */
export interface SimRegister {
  /** At most `limit` SIMs behind the hash `after`, by hash, as they stand in the transaction. */
  states(tx: Tx, after: string, limit: number): Promise<readonly Omit<RecordedSimMove, 'from'>[]>
  /** Undefined for one that does not exist. */
  remains(imsi: ImsiHash, tx?: Tx): Promise<SimRemains | undefined>
  /** Revokes it in the caller's mutation; nothing when it is revoked. Throws `sim_not_found`. */
  revokeIn(tx: MutationTx, imsi: ImsiHash): Promise<void>
  /**
   * Removes of a revoked SIM what neither HSS nor core needs to let it go, in the caller's mutation: keys, card codes, ICCID,
   * label, number, when it was seen; its batch is written anew without it. Its IMSI stays. Throws `sim_not_found`,
   * `sim_state_conflict` for one that is not revoked.
   */
  stripIn(tx: MutationTx, imsi: ImsiHash): Promise<void>
  /**
   * Removes a revoked SIM in the caller's mutation, with all that `stripIn` removes. Throws `sim_not_found`,
   * `sim_state_conflict` for one that is not revoked, or still awaited unless `isUnheard`: then HSS and core keep what they have.
   */
  eraseIn(tx: MutationTx, imsi: ImsiHash, how?: { readonly isUnheard: boolean }): Promise<void>
}
export const simRegisterRef: ServiceRef<SimRegister> = serviceRef<SimRegister>('sims.register', {
  states: 'function',
  remains: 'function',
  revokeIn: 'function',
  stripIn: 'function',
  eraseIn: 'function',
})

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

// ---- provided by policy ----

/** A file that a person has attached to the licence of the rules, such as a scan of it. An open end is null. */
export interface LicenseDocument {
  readonly id: string
  /** Hexadecimal. */
  readonly sha256: string
  readonly mediaType: string
  readonly octets: number
  readonly licenseReference: string
  readonly licenseHolder: string | null
  readonly attachedAtMs: number
  readonly attachedBy: string
  readonly endedAtMs: number | null
  readonly endedBy: string | null
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
  /** Documents of licences that were attached in any part of a span, the oldest first. There are few. */
  documents(span: TimeSpan): Promise<readonly LicenseDocument[]>
}
export const policyHistoryRef: ServiceRef<PolicyHistory> = serviceRef<PolicyHistory>('policy.history', {
  revisions: 'function',
  intervals: 'function',
  takeIntervals: 'function',
  documents: 'function',
})

// ---- provided by core-config ----

/** Keys of the configuration with values that the box has read from its own machine: no caller has a say in them. */
export interface FoundSettings {
  /** Key, dotted → value. Looks each time. */
  found(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>
}
export const foundSettingsRef: ServiceRef<FoundSettings> = serviceRef<FoundSettings>('settings.found', {
  found: 'function',
})

/** A change of the core's files by this service, with the restarts that it took. */
export interface CoreWork {
  /** Paths of the files. */
  readonly files: readonly string[]
  /** Daemons, in the order of their restarts. */
  readonly daemons: readonly string[]
  /** Ms since the epoch. */
  readonly sinceMs: number
  /** When it is over by its plan, ms since the epoch: until then a core that is not well is being worked on. */
  readonly untilMs: number
}
/** What other settings would do to the core. */
export interface CoreOutlook {
  /** Daemons, in the order of their restarts. */
  readonly restarts: readonly string[]
  /** Phones that lose the network by it; undefined when the core does not tell. */
  readonly dropped: number | undefined
  readonly expectedS: number | undefined
  readonly notes: readonly string[]
  readonly problems: readonly string[]
}
/** What this service changes in the core. */
export interface CoreChanges {
  /** The last one that restarted daemons; undefined when there was none since this service began. */
  last(): CoreWork | undefined
  /** What other settings, or other APNs of the policy, would do. Undefined: nothing, or another one drives the core. */
  outlook(
    change: { readonly settings?: Settings; readonly apns?: readonly string[] },
    signal: AbortSignal,
  ): Promise<CoreOutlook | undefined>
}
export const coreChangesRef: ServiceRef<CoreChanges> = serviceRef<CoreChanges>('core.changes', {
  last: 'function',
  outlook: 'function',
})

const REFS: readonly ServiceRef<object>[] = [
  agentWatchRef,
  authenticatorRef,
  bootstrapTokensRef,
  certificateEndsRef,
  collectionConsumerRef,
  coreChangesRef,
  coreDriverRef,
  hssDriverRef,
  incidentBoardRef,
  lifecycleRef,
  nodeReporterRef,
  boxCallsRef,
  peeringRef,
  desiredNewsRef,
  foundSettingsRef,
  moveRecorderRef,
  nodeCertificatesRef,
  nodeRegistryRef,
  operatorCertificatesRef,
  policyHistoryRef,
  policyRef,
  quotaKeeperRef,
  handoutCodesRef,
  ranDriverRef,
  reachKeeperRef,
  sessionHistoryRef,
  simIssuerRef,
  simProvisioningRef,
  simRegisterRef,
  subscriberSourcesRef,
  subscribersRef,
  tokenMintRef,
  tracerRef,
  transmitterRef,
  txGateRef,
  usageLedgerRef,
  usageListenerRef,
  visitorsRef,
]

/** The shape of a service that plugins provide, by its id; undefined for one that these contracts do not name. */
export function shapeOf(serviceId: string): ServiceRef<object>['shape'] {
  const ref = serviceId.startsWith('collector.') ? collectorRef('') : REFS.find(({ id }) => id === serviceId)
  return ref?.shape
}

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
