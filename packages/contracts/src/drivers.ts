import type { RadioProfile, Technology } from './policy.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { Settings } from './settings.ts'

/** 12 lower-case hex characters: the truncated SHA-256 of the IMSI's digits. */
export type ImsiHash = string & { readonly imsiHashBrand: true }
/** A raw IMSI, TS 23.003 §2.2. Never in a log call, an error or a response type. */
export type Imsi = string & { readonly imsiBrand: true }

/** What a core must be set to, whichever it is. Where its daemons listen is a matter of its driver's own configuration. */
export interface CoreDesired {
  readonly plmn: { readonly mcc: string; readonly mnc: string }
  readonly tac: number
  readonly apns: readonly string[]
  readonly maxUes: number
}
/** Rendered files: path relative to the configuration directory → content. `sha256` over names and bytes. */
export interface Rendered {
  readonly files: ReadonlyMap<string, string>
  readonly sha256: string
}
/** What an apply has done; both empty when everything was in force already. */
export interface CoreApplied {
  /** Paths of the files that were written or removed. */
  readonly changed: readonly string[]
  /** Daemons that were restarted, in that order. */
  readonly restarted: readonly string[]
  /** Files that somebody had edited by hand and that are as they were again, and the folder that keeps the edits; absent when none. */
  readonly undone?: { readonly files: readonly string[]; readonly copy: string } | undefined
}
/** What an apply would do now. No secret is in it. */
export interface CorePlan {
  /** The directory of the files; empty when none is configured. */
  readonly dir: string
  /** `unconfigured`: the driver's configuration names no place for the files; `unknown`: it cannot be read. */
  readonly state: 'in_sync' | 'changes' | 'unconfigured' | 'unknown'
  readonly files: readonly PlannedFile[]
  /** Those that restart first, in that order. */
  readonly daemons: readonly PlannedDaemon[]
  /** Subscribers that lose their connection; undefined when the core does not tell. */
  readonly dropped: number | undefined
  /** Seconds until all daemons are back and phones that were dropped have been told to come back. */
  readonly expectedS: number | undefined
  /** What else the configuration asks of the machine: memory. */
  readonly notes: readonly string[]
  /** What stands in the way, and what to do about it. */
  readonly problems: readonly string[]
  /** The core has refused exactly this before: why. It is not tried again by itself. */
  readonly refused: string | undefined
  /** Files of others in the places of ours: nothing is applied until `takeOver` was told of exactly these. Absent: none. */
  readonly held?: readonly string[]
  /** Folders with copies of what others had written there, oldest first. Nothing removes them. Absent: none. */
  readonly originals?: readonly string[]
  /** Files with lines of the operator's own, which stay: their keys. Absent: none. */
  readonly overlays?: readonly { readonly path: string; readonly keys: readonly string[] }[]
}
/** A file of the core as it is, beside what this service writes. No secret is in it. */
export interface ComparedFile {
  readonly path: string
  readonly daemon: string | undefined
  /** Keys that are written otherwise: `mme.tai.0.tac`. `found` is undefined where the file has none. */
  readonly differences: readonly {
    readonly key: string
    readonly found: string | undefined
    readonly written: string
  }[]
  /** Keys that this service does not write: they stay the operator's own. */
  readonly kept: readonly string[]
}
/** What becomes of the files that are there. */
export interface CoreComparison {
  readonly files: readonly ComparedFile[]
  /** What an apply does after `adopt`: the operator's lines stay. */
  readonly adopted: CorePlan
  /** What an apply does that writes all of its own lines. */
  readonly replaced: CorePlan
}
/** The operator's own files in the place where the core's are written. They may hold secrets. */
export interface CoreOverlays {
  /** All of them, for `putOverlays`; empty when there are none. */
  readonly text: string
  /** That of the last `putOverlays`; undefined when there was none, or the place was emptied since. */
  readonly mark: string | undefined
  /** This service has written nothing here, or it is gone: a new machine, a lost disk. */
  readonly isNew: boolean
}
/** A line that is to be written as this service writes it. */
export type CoreLine = Readonly<Record<'path' | 'key', string>>
/** What would restart. */
export interface CoreRestartPlan {
  /** Daemons in their order, those that follow another one too. */
  readonly restarts: readonly string[]
  /** Phones that lose their connection by it; undefined when the core does not tell. */
  readonly dropped: number | undefined
}
/** Files of others that were put back. A driver that does not look for edits leaves `edits`, `kept` and `left` out. */
export interface CoreRestored {
  /** The name of the copy. */
  readonly copy: string
  /** Paths of the files that were written or removed. */
  readonly changed: readonly string[]
  /** Paths of the files, overlays too, of which an edit by hand is undone. */
  readonly edits?: readonly string[]
  /** The folder of the copy of these; before there is one, where it will lie. Undefined without edits. */
  readonly kept?: string | undefined
  /** Paths among the overlays that the service did not make: they stay. */
  readonly left?: readonly string[]
  /** Daemons that were restarted, in that order. */
  readonly restarted: readonly string[]
  /** Why daemons have not restarted, or do not get well with them, in words; undefined when all are well. */
  readonly problem: string | undefined
}
/** What putting files of others back would do. */
export type CoreRestorePlan = CoreRestartPlan & Omit<CoreRestored, 'restarted' | 'problem'>
/** One file of a plan. */
export interface PlannedFile {
  readonly path: string
  readonly change: 'added' | 'changed' | 'removed' | 'same'
  /** Who reads it. */
  readonly daemon: string | undefined
  /**
   * Lines with `-` and `+` before them, unified as diff(1) has it or all of both, without secrets; undefined for a file that
   * stays as it is.
   */
  readonly diff: string | undefined
}
/** One daemon of a plan. */
export interface PlannedDaemon {
  readonly name: string
  /** The container or the unit of systemd that it runs in. */
  readonly container: string | undefined
  readonly action: 'restart' | 'none'
  /** Whose phones its restart cuts off. */
  readonly drops: 'lte' | 'nr' | 'all' | 'none'
  readonly reason: string
  /** How many; undefined when the core does not tell. */
  readonly dropped: number | undefined
  readonly expectedS: number
}
/** What a core looks like from outside. */
export interface CoreObserved {
  readonly configSha256: string | undefined
  readonly services: ReadonlyMap<string, 'up' | 'down' | 'unknown'>
  /** What keeps functions that answer from their work, in words behind their name: `it has no PFCP association`. Absent: nobody looks. */
  readonly problems?: ReadonlyMap<string, string>
  /** Functions that are started over and over, in words behind their name. Absent: nobody counts. */
  readonly restarted?: ReadonlyMap<string, string>
  /** Connected base stations; undefined when the core did not tell. */
  readonly radios: number | undefined
  /** Networks (`999-99`) that connected base stations announce instead of this one; absent when there is none or the core does not tell. */
  readonly otherNetworks?: readonly string[] | undefined
  /** Of the connected base stations; absent when there is none or the core does not tell. */
  readonly technology?: Technology
  /** Attached phones; undefined when the core did not tell: that is not 0. */
  readonly attachedUes: number | undefined
}
/** A base station that has an association with the core, whether S1 or NG is set up on it or not. */
export interface ObservedStation {
  /** Global eNB or gNB ID without the PLMN, TS 23.003 §19.4.2.13. */
  readonly id: number
  /** Where its association comes from; undefined when the core does not tell. */
  readonly address: string | undefined
}
/** One phone that the core knows now. */
export interface ObservedUe {
  /** Hashed as soon as it is read; never logged or stored. */
  readonly imsi: Imsi
  /** Registered (attached) now; false for one that the core remembers only. */
  readonly isRegistered: boolean
  /** APNs of its sessions; empty when it has none. */
  readonly apns: readonly string[]
  /** ECM- or CM-CONNECTED; undefined when the core does not tell. */
  readonly isConnected?: boolean
}
/**
 * Why a core let a phone not on. More may come.
 *
 * - `unknown_subscriber`: its HSS holds nobody of that identity, or nothing at all at the time.
 * - `wrong_keys`: the card did not take the network's authentication; `out_of_step`: its sequence numbers are elsewhere.
 * - `wrong_apn`, `wrong_area` (tracking area), `wrong_network` (PLMN).
 * - `not_allowed`: subscription or restriction; `unanswered`: the core left the attempt without an answer.
 */
export type UeRefusal =
  | 'unknown_subscriber'
  | 'wrong_keys'
  | 'out_of_step'
  | 'wrong_apn'
  | 'wrong_area'
  | 'wrong_network'
  | 'not_allowed'
  | 'unanswered'
  | 'other'
/** An attempt of a phone that failed. */
export interface UeAttempt {
  readonly refusal: UeRefusal
  /** In words, with the cause's number where there is one. Never an identifier of a subscriber. */
  readonly detail: string
  /** When, as the core's own clock has written it; undefined when it did not. */
  readonly at: string | undefined
  /** False: the core does not say whose attempt it was, and this phone's came right before. */
  readonly isCertain: boolean
}
/** What a core knows of one phone that should get on. */
export interface UeDiagnosis {
  /** The core's own word for its state; undefined when its list has no such phone. */
  readonly state: string | undefined
  /** Failed attempts since the last that succeeded, newest first; undefined when the core's log cannot be read. */
  readonly attempts: readonly UeAttempt[] | undefined
  /** Why its log cannot be read; undefined when it can. */
  readonly logProblem: string | undefined
  /** Why the core took no base station when one came last, in words; absent when its log says nothing of the kind. */
  readonly refusedRadio?: string | undefined
}
/** Attaches that a core has completed since a position, each once. */
export interface CoreAttaches {
  /** Whose: one entry for each attach. Hashed as soon as it is read; never logged or stored. */
  readonly imsis: readonly Imsi[]
  /** False: nothing shows yet that the core writes of each attach; those that it has written of are none to count. */
  readonly isTelling: boolean
  /** Kept in the commit that counts them, and given to the next call. */
  readonly position: string
  /** False: some of what the core wrote was gone before it was read. */
  readonly isWhole: boolean
}
/** Exactly one active: config key `core`. */
export interface CoreDriver {
  /**
   * Pure: same input, same bytes. `settings`: as if these were in force. Throws `validation_failed` for what the core would take
   * silently and wrongly.
   */
  render(desired: CoreDesired, settings?: Settings): Promise<Rendered>
  /**
   * Never changes anything. A core that does not answer, or not yet, is no error: its services are `down` or `unknown`, and
   * what it did not tell is undefined. `configSha256` is of the files that the running core has read: where they were written and
   * nobody has restarted it, undefined, so that they are applied.
   */
  observe(signal: AbortSignal): Promise<CoreObserved>
  /**
   * What `apply` would do now, or with these settings in force. Never changes anything. Absent where nothing but the hash of `observe` can tell; the owner of
   * the core's settings compares that then.
   */
  plan?(config: Rendered, signal: AbortSignal, settings?: Settings): Promise<CorePlan>
  /**
   * Writes and restarts what changed; idempotent; leaves the last good files when it fails. Throws `core_config_refused`
   * for what the core does not take: it is not tried again until something else is wanted. Anything else is.
   */
  apply(config: Rendered, signal: AbortSignal): Promise<CoreApplied>
  /**
   * Agrees that `apply` replaces exactly these files of others, of which a copy is kept for good; gives its folder. Throws
   * `validation_failed` when others are in the way. Absent where `plan` never holds anything.
   */
  takeOver?(config: Rendered, files: readonly string[], signal: AbortSignal): Promise<string>
  /**
   * Puts back what others had written: the copy of that name, else the oldest. The next `apply` is held until it is agreed to
   * again. Throws `not_found`. Absent where nothing is kept.
   */
  restoreOriginal?(config: Rendered, copy: string | undefined, signal: AbortSignal): Promise<CoreRestored>
  /** What `restoreOriginal` would do. Never changes anything. Throws `not_found`. Absent where that is not known before. */
  planRestore?(config: Rendered, copy: string | undefined, signal: AbortSignal): Promise<CoreRestorePlan>
  /**
   * Restarts the daemons that are down, where this service manages them, and those that follow one; gives all of them. None where nobody is down, or somebody else
   * starts them. Throws `southbound_unavailable` when one does not get well. Absent where the driver restarts nobody.
   */
  restartDown?(signal: AbortSignal): Promise<readonly string[]>
  /** What `restartDown` would restart. Never changes anything. Absent where that is not known before. */
  planRestartDown?(signal: AbortSignal): Promise<CoreRestartPlan>
  /**
   * Compares the files that are there with what would be written, if the settings were these. Never changes anything; throws
   * `validation_failed` where such settings cannot be rendered. Absent where `plan` never holds anything.
   */
  compare?(desired: CoreDesired, settings: Settings, signal: AbortSignal): Promise<CoreComparison>
  /**
   * Takes in the files that are there: they stay, as overlays of the operator's own, but for `ours`. Only what this service renders
   * otherwise from then on is changed in them. A copy is kept for good; gives its folder. Nothing restarts by it. Throws
   * `validation_failed`, `southbound_unavailable`. Absent where nothing is kept.
   */
  adopt?(desired: CoreDesired, ours: readonly CoreLine[], signal: AbortSignal): Promise<string>
  /** The overlays that `adopt` made, as they are now. Throws `southbound_unavailable`. Absent where nothing is kept. */
  overlays?(signal: AbortSignal): Promise<CoreOverlays>
  /** Marks the overlays, or with `text` puts those of an earlier `overlays` in their place. Throws `southbound_unavailable`. */
  putOverlays?(mark: string, text: string | undefined, signal: AbortSignal): Promise<void>
  /**
   * Really disconnects the subscriber; says whether its session is gone. Where the core only takes note and acts later, it
   * looks again until it is; the signal fires after 5 s, and whoever asks then or hears `pending` asks again.
   */
  kick(imsi: Imsi, signal: AbortSignal): Promise<'yes' | 'pending' | 'not_attached'>
  /** Every phone that the core knows now. Never changes anything; throws `southbound_unavailable`. */
  ues(signal: AbortSignal): Promise<readonly ObservedUe[]>
  /**
   * What this core knows of one phone that does not get on. Never changes anything; throws `southbound_unavailable`.
   * Absent where nothing can be said.
   */
  diagnose?(imsi: Imsi, signal: AbortSignal): Promise<UeDiagnosis>
  /**
   * The attaches (registrations in 5G) that were completed since a position that an earlier call gave; without one none, and
   * where to begin. Undefined where the core does not tell of each, or it is not known how: that is not that nobody has
   * attached. Throws `southbound_unavailable` while it cannot be asked: what it tells then comes later. Absent where
   * nothing can tell.
   */
  attaches?(position: string | undefined, signal: AbortSignal): Promise<CoreAttaches | undefined>
  /**
   * The base stations of that technology that have an association, asked of the core in this very call. Throws `southbound_unavailable`.
   * Absent where the core lists none.
   */
  stations?(technology: Technology, signal: AbortSignal): Promise<readonly ObservedStation[]>
  /** CIDR of the addresses that phones get, as configured. Absent where nothing is known of them. */
  pools?(): Promise<readonly string[]>
}
export const coreDriverRef: ServiceRef<CoreDriver> = serviceRef<CoreDriver>('core.driver', {
  render: 'function',
  observe: 'function',
  apply: 'function',
  kick: 'function',
  ues: 'function',
  plan: 'function?',
  takeOver: 'function?',
  restoreOriginal: 'function?',
  planRestore: 'function?',
  restartDown: 'function?',
  planRestartDown: 'function?',
  compare: 'function?',
  adopt: 'function?',
  overlays: 'function?',
  putOverlays: 'function?',
  diagnose: 'function?',
  attaches: 'function?',
  stations: 'function?',
  pools: 'function?',
})

/** A subscriber as an HSS must hold it. Key buffers are 16 octets and zeroed by the caller afterwards. */
export interface Subscriber {
  readonly imsi: Imsi
  readonly ki: Uint8Array
  readonly opc: Uint8Array
  /** Written on insert only; never lowered. */
  readonly sqn: bigint
  readonly apns: readonly string[]
  readonly ambrBps: { readonly up: number; readonly down: number }
  readonly isBlocked: boolean
  /** Digits without a plus; left out when there is none. */
  readonly msisdn?: string
  /**
   * Of one that was taken over: what `whole` found of it then. Whatever the HSS holds of it stays as it is, but for what this
   * subscriber says otherwise; an HSS that has lost it gets it back with all of this.
   */
  readonly found?: string
}
/** What an HSS holds of a subscriber, without secrets. */
export type SubscriberObserved = Omit<Subscriber, 'ki' | 'opc' | 'sqn' | 'found'>
/** Bit/s in both directions. */
export interface Ambr {
  readonly up: number
  readonly down: number
}
/** What an HSS holds of a subscriber whoever wrote it, for an import that leaves it as it is. No secret. */
export interface SubscriberHeld {
  /** In their order; empty when they cannot be read. */
  readonly apns: readonly string[]
  /** Of the subscriber; undefined when it cannot be read. */
  readonly ambrBps: Ambr | undefined
  /** Of the sessions of an APN, where it is another one. */
  readonly sessionAmbrBps: ReadonlyMap<string, Ambr>
  readonly msisdn: string | undefined
  readonly isBlocked: boolean
}
/** An APN of a slice, as an HSS holds it. */
interface FoundApn {
  readonly name: string
  /** Undefined when it cannot be read. */
  readonly ambrBps: Ambr | undefined
  /** QCI or 5QI. */
  readonly qos: number | undefined
  /** Addresses that are this subscriber's for good. */
  readonly addresses: readonly string[]
}
/** A slice of a subscriber, as an HSS holds it. */
export interface FoundSlice {
  readonly sst: number
  readonly sd: string | undefined
  readonly isDefault: boolean
  readonly apns: readonly FoundApn[]
}
/** All that an HSS holds of a subscriber, whoever wrote it: what taking it over needs. */
export interface SubscriberFound extends Pick<SubscriberHeld, 'ambrBps' | 'msisdn' | 'isBlocked'> {
  readonly slices: readonly FoundSlice[]
  /**
   * 16 octets each, zeroed by the caller; undefined when they were not asked for, or cannot be read. OPc also where the HSS
   * holds OP, which `isOp` says.
   */
  readonly keys: { readonly ki: Uint8Array; readonly opc: Uint8Array; readonly isOp: boolean } | undefined
  /** Undefined when it cannot be read. */
  readonly sqn: bigint | undefined
  /** The AMF field of the authentication, as it is written. */
  readonly amf: string | undefined
  /** Everything, without keys, SQN and IMSI: what `Subscriber.found` takes. The same text while nothing changes. */
  readonly text: string
  /** Why it cannot be taken over, in words; undefined when it can. */
  readonly problem: string | undefined
}
/** What an HSS holds altogether, whoever wrote it. */
export interface HssSurvey {
  readonly subscribers: number
  /** Addresses that are given to one subscriber for good, at most 1,000 of them, by APN. */
  readonly addresses: readonly { readonly apn: string; readonly address: string }[]
  /** What the core does not bear of what they hold, and what to do, in words without an identity. */
  readonly problems?: readonly string[]
}
/** How what an HSS holds of a subscriber differs from what an `upsert` of it would leave there. */
export interface SubscriberDifference {
  /** Names of what differs, for people; never a value. Empty when nothing does. */
  readonly fields: readonly string[]
  /** The HSS has lost the SQN, so that the next upsert writes it: it must be later than every one used. */
  readonly isSqnLost: boolean
}
/** Result per subscriber of a batch call: undefined when it worked, the error otherwise. */
export type BatchResult = ReadonlyMap<Imsi, Error | undefined>
/**
 * Subscriber write-back. A driver says `Context.changed(hssDriverRef)` each time that its HSS may hold something else than
 * it was left with: it was away, was emptied, restored or replaced. Everything is compared at once then, as it is for
 * another copy of a driver.
 */
export interface HssDriver {
  /** As `hss.driver` names it: `docdb_shell`, `dbctl`, `core_b`, … */
  readonly name: string
  /** What its core adds to the SQN for each authentication vector; 32 when absent: IND stays. TS 33.102 annex C.3.2. */
  readonly sqnStep?: number
  observe(imsis: readonly Imsi[], signal: AbortSignal): Promise<ReadonlyMap<Imsi, SubscriberObserved>>
  upsert(subscribers: readonly Subscriber[], signal: AbortSignal): Promise<BatchResult>
  /**
   * What an upsert of these would change, keys included. Never changes anything. Those that the HSS does not hold are
   * left out. Absent where nothing but `observe` can tell.
   */
  compare?(
    subscribers: readonly Subscriber[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Imsi, SubscriberDifference>>
  /** What these have now, whoever wrote it. Absent ones are left out. Never changes anything. */
  existing?(imsis: readonly Imsi[], signal: AbortSignal): Promise<ReadonlyMap<Imsi, SubscriberHeld>>
  /** What the HSS holds altogether. Never changes anything. Absent where it cannot be counted. */
  survey?(signal: AbortSignal): Promise<HssSurvey>
  /** Who is in the HSS, whoever wrote them, at most 100,000. Never changes anything. Absent where nobody can be listed. */
  everybody?(signal: AbortSignal): Promise<readonly Imsi[]>
  /** All that it holds of these. Absent ones are left out. Never changes anything. Goes with `everybody`. */
  whole?(
    imsis: readonly Imsi[],
    what: 'with keys' | 'without keys',
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Imsi, SubscriberFound>>
  /** Removing an absent one succeeds. */
  remove(imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult>
  /** Blocks or unblocks without touching the rest. */
  setBlocked(imsis: readonly Imsi[], isBlocked: boolean, signal: AbortSignal): Promise<BatchResult>
  /**
   * Has the HSS cancel the location of these: it disconnects them, blocked or not. Asks anew for one that was asked for
   * before. `not_found` for one that the HSS does not hold. Absent where nothing can do it.
   */
  cancelLocation?(imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult>
  /** Takes away what it keeps in the HSS for itself, beside subscribers. Absent where it keeps nothing. */
  release?(signal: AbortSignal): Promise<void>
}
export const hssDriverRef: ServiceRef<HssDriver> = serviceRef<HssDriver>('hss.driver', {
  name: 'string',
  sqnStep: 'number?',
  observe: 'function',
  upsert: 'function',
  compare: 'function?',
  existing: 'function?',
  survey: 'function?',
  everybody: 'function?',
  whole: 'function?',
  remove: 'function',
  setBlocked: 'function',
  cancelLocation: 'function?',
  release: 'function?',
})

/** Subscribers of another core than the one that is written to. They are only looked at. */
export type SubscriberSource = Required<Pick<HssDriver, 'name' | 'everybody' | 'whole'>>
/** Where subscribers can be taken over from beside the HSS. What `whole` finds is a `Subscriber.found` of every driver here. */
export interface SubscriberSources {
  /** Documents of Open5GS or free5GC as `mongoexport` writes them. Throws `validation_failed`. */
  documents(texts: readonly string[]): SubscriberSource
  /** The core that the settings name as the other one; undefined without one. Throws `southbound_unavailable` when asked. */
  other(): SubscriberSource | undefined
}
export const subscriberSourcesRef: ServiceRef<SubscriberSources> = serviceRef<SubscriberSources>(
  'hss.sources',
  { documents: 'function', other: 'function' },
)

/** State of the radio process. */
export interface RanObserved {
  readonly pid: number | undefined
  readonly isConnected: boolean
  /** Of a radio that is no process of this machine: whether it is on, and `unknown` while that is not certain. */
  readonly power?: 'on' | 'off' | 'unknown'
  /** Whether it is to be on air now; a driver that leaves it out does not say. */
  readonly isWanted?: boolean
  readonly attachedUes: number
  readonly mode: 'lte' | 'nr' | 'none'
}
/** What a radio would be started with, and what a start looks at before. */
export interface RadioRehearsal {
  /** `srsenb`, `gnb`, `external`. */
  readonly program: string
  /** The configuration files that would be written. */
  readonly files: readonly { readonly name: string; readonly text: string }[]
  readonly checks: readonly {
    /** configuration, program, machine; of an external cell switch, core, lease. May grow. */
    readonly check: string
    /** Why it fails, sentence by sentence; empty: it is passed. */
    readonly problems: readonly string[]
  }[]
}

/**
 * What becomes of a transmitter when this machine fails. `off`: it ends with it. `timer`: something outside turns it off within a time.
 * `none`: it stays on.
 */
export interface RadioFallback {
  readonly kind: 'off' | 'timer' | 'none'
  /** For people: a sentence without its full stop. */
  readonly detail: string
}

/** Whether a base station is connected to the core, and whether that was wanted. */
export interface RadioLink {
  /** Undefined: neither the node's own radio nor its core knows. */
  readonly isConnected: boolean | undefined
  /** Undefined without a radio of the node's own: who else connects one decides. */
  readonly isWanted: boolean | undefined
}

/** The one answer to that from what both drivers observe: a radio of the node's own counts, else what the core counts. */
export function radioLink(
  ran: RanObserved | undefined,
  core: Pick<CoreObserved, 'radios'> | undefined,
): RadioLink {
  // Without a radio of its own the driver knows nothing: the core may know one of somebody else.
  const own = ran?.mode === 'none' ? undefined : ran
  const radios = core?.radios
  const isCounted = radios === undefined ? undefined : radios > 0
  return { isConnected: own?.isConnected ?? isCounted, isWanted: own?.isWanted }
}

/** Supervises one eNB or gNB. Also provides `ran.transmitter`. */
export interface RanDriver {
  observe(signal: AbortSignal): Promise<RanObserved>
  /** Refused with `tx_not_armed` while the TX gate is closed. */
  start(profile: RadioProfile, signal: AbortSignal): Promise<void>
  /** Off the air and gone when it resolves; idempotent. */
  stop(signal: AbortSignal): Promise<void>
  /** Why this profile can never be on air with the driver as it is configured; empty when nothing is known. An arm asks. */
  problems?(profile: RadioProfile): readonly string[]
  /** A start of this profile up to the moment before the program runs; undefined when no program is configured. Starts nothing. */
  rehearse?(profile: RadioProfile): Promise<RadioRehearsal | undefined>
  /**
   * What a radio that is set up by somebody else is known to send otherwise than this profile says, since it was armed. The gate takes it
   * off the air for that. It says `Context.changed(transmitterRef)` when it finds one.
   */
  deviations?(profile: RadioProfile): readonly string[]
  /** What becomes of the transmitter when this machine fails; undefined when no radio is configured. */
  fallback?(): RadioFallback | undefined
}
export const ranDriverRef: ServiceRef<RanDriver> = serviceRef<RanDriver>('ran.driver', {
  observe: 'function',
  start: 'function',
  stop: 'function',
  problems: 'function?',
  rehearse: 'function?',
  deviations: 'function?',
  fallback: 'function?',
})
