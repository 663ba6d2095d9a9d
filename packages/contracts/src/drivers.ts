import type { RadioProfile, Technology } from './policy.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'

/** 12 lower-case hex characters: the truncated SHA-256 of the IMSI's digits. */
export type ImsiHash = string & { readonly imsiHashBrand: true }
/** A raw IMSI, TS 23.003 §2.2. Never in a log call, an error or a response type. */
export type Imsi = string & { readonly imsiBrand: true }

/** What a core must be set to. Addresses by role (`mme`, `sgwu`, …). */
export interface CoreDesired {
  readonly plmn: { readonly mcc: string; readonly mnc: string }
  readonly tac: number
  readonly apns: readonly string[]
  readonly maxUes: number
  readonly addresses: Readonly<Record<string, string>>
}
/** Rendered files: path relative to the configuration directory → content. `sha256` over names and bytes. */
export interface Rendered {
  readonly files: ReadonlyMap<string, string>
  readonly sha256: string
}
/** What a core looks like from outside. */
export interface CoreObserved {
  readonly configSha256: string | undefined
  readonly services: ReadonlyMap<string, 'up' | 'down' | 'unknown'>
  /** Connected base stations; undefined when the core did not tell. */
  readonly radios: number | undefined
  /** Of the connected base stations; absent when there is none or the core does not tell. */
  readonly technology?: Technology
  /** Attached phones; undefined when the core did not tell: that is not 0. */
  readonly attachedUes: number | undefined
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
/** Exactly one active: config key `core`. */
export interface CoreDriver {
  /** Pure: same input, same bytes. Throws `validation_failed` for what the core would take silently and wrongly. */
  render(desired: CoreDesired): Promise<Rendered>
  /** Never changes anything. */
  observe(signal: AbortSignal): Promise<CoreObserved>
  /** Writes and restarts what changed; idempotent; leaves the last good files when it fails. */
  apply(config: Rendered, signal: AbortSignal): Promise<void>
  /** Really disconnects the subscriber; says whether its session is gone. */
  kick(imsi: Imsi, signal: AbortSignal): Promise<'yes' | 'pending' | 'not_attached'>
  /** Every phone that the core knows now. Never changes anything; throws `southbound_unavailable`. */
  ues(signal: AbortSignal): Promise<readonly ObservedUe[]>
}
export const coreDriverRef: ServiceRef<CoreDriver> = serviceRef<CoreDriver>('core.driver')

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
}
/** What an HSS holds of a subscriber, without secrets. */
export type SubscriberObserved = Omit<Subscriber, 'ki' | 'opc' | 'sqn'>
/** Result per subscriber of a batch call: undefined when it worked, the error otherwise. */
export type BatchResult = ReadonlyMap<Imsi, Error | undefined>
/** Subscriber write-back. */
export interface HssDriver {
  /** As `hss.driver` names it: `docdb_shell`, `dbctl`, `core_b`, … */
  readonly name: string
  observe(imsis: readonly Imsi[], signal: AbortSignal): Promise<ReadonlyMap<Imsi, SubscriberObserved>>
  upsert(subscribers: readonly Subscriber[], signal: AbortSignal): Promise<BatchResult>
  /** Removing an absent one succeeds. */
  remove(imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult>
  /** Blocks or unblocks without touching the rest. */
  setBlocked(imsis: readonly Imsi[], isBlocked: boolean, signal: AbortSignal): Promise<BatchResult>
  /**
   * Has the HSS cancel the location of these: it disconnects them, blocked or not. Asks anew for one that was asked for
   * before. `not_found` for one that the HSS does not hold. Absent where nothing can do it.
   */
  cancelLocation?(imsis: readonly Imsi[], signal: AbortSignal): Promise<BatchResult>
}
export const hssDriverRef: ServiceRef<HssDriver> = serviceRef<HssDriver>('hss.driver')

/** State of the radio process. */
export interface RanObserved {
  readonly pid: number | undefined
  readonly isConnected: boolean
  readonly attachedUes: number
  readonly mode: 'lte' | 'nr' | 'none'
}
/** Supervises one eNB or gNB. Also provides `ran.transmitter`. */
export interface RanDriver {
  observe(signal: AbortSignal): Promise<RanObserved>
  /** Refused with `tx_not_armed` while the TX gate is closed. */
  start(profile: RadioProfile, signal: AbortSignal): Promise<void>
  /** Off the air and gone when it resolves; idempotent. */
  stop(signal: AbortSignal): Promise<void>
}
export const ranDriverRef: ServiceRef<RanDriver> = serviceRef<RanDriver>('ran.driver')

/** Bytes of one session. Octets of the inner IP packets; `atMs` ms since the epoch. */
export interface UsageSample {
  readonly imsi: ImsiHash
  readonly apn: string
  readonly session: string
  readonly upBytes: number
  readonly downBytes: number
  readonly atMs: number
  readonly kind: 'delta' | 'total'
}
/** Emits session sightings and usage samples; survives restarts of the core without counting twice. */
export interface Collector {
  readonly source: string
  poll(signal: AbortSignal): Promise<readonly UsageSample[]>
}
/** Each collector provides its service under `collector.<plugin id>`. */
export function collectorRef(pluginId: string): ServiceRef<Collector> {
  return serviceRef<Collector>(`collector.${pluginId}`)
}
