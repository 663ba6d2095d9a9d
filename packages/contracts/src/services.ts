import type { ImsiHash } from './drivers.ts'
import type { IncidentKind } from './incidents.ts'
import type { RunningPlugin } from './plugin.ts'
import type { PolicyBundle, RadioProfile, Technology } from './policy.ts'
import type { Principal, Role } from './roles.ts'
import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { MutationTx, Tx } from './store.ts'

// ---- provided by the kernel ----

/** Authenticated encryption under the vault key: AES-256-GCM, random nonce, key id in front, `rowId` as AAD. */
export interface Vault {
  /** Seals under the current key. The plain buffer stays the caller's to zero. */
  seal(plain: Uint8Array, rowId: string): Uint8Array
  /** Opens what `seal` made, under the key it names. Throws `store_corrupt` when it was changed or moved. */
  open(sealed: Uint8Array, rowId: string): Uint8Array
  /** The id of the current key. */
  readonly keyId: string
  /** Registers a table with sealed columns, so that `svc vault rotate` can re-seal it. */
  register(columns: SealedColumns): void
}

/** One table whose `columns` hold sealed values; the AAD of a row is `<table>/<key>` unless `aad` says otherwise. */
export interface SealedColumns {
  readonly table: string
  readonly key: string
  readonly columns: readonly string[]
}
export const vaultRef: ServiceRef<Vault> = serviceRef<Vault>('kernel.vault')

/** Where this node's identity comes from: made by `svc node init`, kept in files under `<data_dir>/keys`. */
export interface NodeIdentity {
  /** The node's UUID and name. */
  readonly nodeId: string
  readonly name: string
  readonly createdAtMs: number
  /** SHA-256 of the DER of the node's CA, 64 hex characters. */
  readonly caSha256: string
  /** The node's own certificate: until when it is valid. */
  readonly certificateExpiresAtMs: number
}
export const nodeIdentityRef: ServiceRef<NodeIdentity> = serviceRef<NodeIdentity>('kernel.node_identity')

/** One entry of the audit trail, as stored. Hashes are SHA-256 hex; the chain is described in docs/explanation/audit.md. */
export interface AuditEntry {
  readonly seq: number
  readonly atMs: number
  readonly principal: { readonly kind: string; readonly id: string; readonly name: string }
  readonly action: string
  readonly target: string
  readonly outcome: 'ok' | 'denied' | 'failed'
  readonly requestId: string | undefined
  readonly detail: Readonly<Record<string, unknown>>
  readonly hash: string
  readonly prevHash: string
}
export interface AuditFilter {
  readonly action?: string
  /** Principal id. */
  readonly principal?: string
  readonly target?: string
  readonly fromMs?: number
  readonly toMs?: number
}
/** Reads the audit trail. Writing is the mutation path's alone. */
export interface AuditTrail {
  /** Newest first, at most `limit` entries with `seq` below `beforeSeq`. */
  list(filter: AuditFilter, limit: number, beforeSeq: number | undefined): Promise<readonly AuditEntry[]>
  /** Oldest first, at most `limit` entries with `seq` above `afterSeq`. */
  listAfter(filter: AuditFilter, limit: number, afterSeq: number): Promise<readonly AuditEntry[]>
  /** The newest entry and the seal of this node over it (docs/explanation/audit.md). Throws `store_corrupt`. */
  head(): Promise<{ readonly seq: number; readonly hash: string; readonly seal: string }>
  /** Checks chain, checkpoint and head; names the first broken entry. */
  verify(): Promise<{
    readonly ok: boolean
    readonly checked: number
    readonly firstBroken?: number
    readonly reason?: string
  }>
  /** Removes entries from before that time (ms since the epoch), leaves a signed checkpoint, returns how many. */
  prune(olderThanMs: number): Promise<number>
}
export const auditTrailRef: ServiceRef<AuditTrail> = serviceRef<AuditTrail>('kernel.audit')

/** One component as `GET /v1/health` shows it. Times are ms since the epoch. */
export interface ComponentState {
  readonly name: string
  readonly kind: 'core' | 'hss' | 'ran' | 'collector' | 'store' | 'feature' | 'peer'
  readonly status: 'ok' | 'degraded' | 'down'
  readonly detail: string
  readonly required: boolean
  readonly incident?: IncidentKind | undefined
  readonly chosen?: string | undefined
  /** What the box is called that it is of; absent for this one. */
  readonly box?: string
  readonly sinceMs: number
  readonly lastOkAtMs: number | undefined
}
/** What the kernel knows of itself and of each plugin's own health check. Agents' heartbeats are the nodes plugin's. */
export interface HealthBoard {
  components(): readonly ComponentState[]
  /** As `components`, asked anew when the last look is more than a second old; waits at most half a second for it. */
  fresh(): Promise<readonly ComponentState[]>
  /** Whether the first reconcile pass of every reconciler is over. */
  readonly isReady: boolean
}
export const healthBoardRef: ServiceRef<HealthBoard> = serviceRef<HealthBoard>('kernel.health')
/** The judgement of the machine's clock. Contract section 13. */
export interface ClockJudge {
  /** Ms since the epoch: what the machine's clock says, and the time that the service goes by. */
  view(): {
    readonly machineMs: number
    readonly serviceMs: number
    /** Why the machine's clock is not believed; undefined while it is. */
    readonly doubt: string | undefined
  }
  /** Believes the machine's clock as it stands, durable when it resolves. Throws `store_unavailable`. */
  confirm(): Promise<void>
}
export const clockJudgeRef: ServiceRef<ClockJudge> = serviceRef<ClockJudge>('kernel.clock')

/** What is running. */
export interface ServiceInfo {
  readonly version: string
  readonly commit: string | undefined
  readonly buildDate: string | undefined
  readonly startedAtMs: number
  plugins(): readonly RunningPlugin[]
  /** This instance among those that share the store, as it sees them now. */
  instance(): InstanceView
}

/** Who leads, as one instance sees it. */
export interface InstanceView {
  /** As `cluster.instance` names it; empty for one that is meant to be alone. */
  readonly name: string
  /** `alone`: the store belongs to this process, there is nothing to elect. */
  readonly role: 'alone' | 'leader' | 'follower'
  /** The name of the leader; undefined while there is none. */
  readonly leader: string | undefined
  /** Grows by one with each leader; 0 where nothing is elected. */
  readonly epoch: number
  /** Whether what belongs to one machine (radio, core) runs here. */
  readonly isMachine: boolean
}
export const serviceInfoRef: ServiceRef<ServiceInfo> = serviceRef<ServiceInfo>('kernel.info')

/** Keys for what this service signs for itself, each for one purpose, all from the node's session key. */
export interface SessionKeys {
  /** Public id of the key that they come from, for the `kid` of a JWT: 8 hex characters. */
  readonly keyId: string
  /** 32 octets, the same ones for the same purpose; they tell nothing of the key or of those for another purpose. */
  derive(purpose: string): Uint8Array
}
export const sessionKeysRef: ServiceRef<SessionKeys> = serviceRef<SessionKeys>('kernel.session_keys', {
  keyId: 'string',
  derive: 'function',
})

/** A request that this service makes of its own routes, without HTTP. */
export interface OwnQuestion {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As a client writes it, without a query. */
  readonly path: string
  /** Values as texts, as in a URL. */
  readonly query?: Readonly<Record<string, string>>
  /** JSON. */
  readonly body?: unknown
}
/** The routes of this very service, for what is decided elsewhere and must be done as if somebody had asked for it here. */
export interface OwnRoutes {
  /**
   * Asks a route whose answer is JSON: role, schemas, limits, audit and events are those of a request of that principal. The body of the
   * answer. Throws what the route refuses with; `feature_not_installed` while there is no such route.
   */
  ask(principal: Principal, question: OwnQuestion, signal: AbortSignal): Promise<unknown>
  /** Whether the route would take path, query and body, as far as its schemas say. Throws as `ask`; asks nothing. */
  check(question: OwnQuestion): Promise<void>
}
/** Provided by the kernel. */
export const ownRoutesRef: ServiceRef<OwnRoutes> = serviceRef<OwnRoutes>('kernel.own_routes')

// ---- provided by access ----

/** Who a credential stands for, and until when. */
export type AuthenticatedPrincipal = Principal
/** Turns a bearer credential into a principal. The environment admin token is the edge's own business. */
export interface Authenticator {
  /**
   * Another object after each change by which a credential may lose something. As long as it is the same one, an
   * answer of `authenticate` may be used again for a second without asking. Undefined: ask each time.
   */
  readonly epoch?: object | undefined
  /** The principal of a live scoped token, or undefined. Throws `token_expired` for one that was valid once. */
  authenticate(token: string): Promise<AuthenticatedPrincipal | undefined>
}
export const authenticatorRef: ServiceRef<Authenticator> = serviceRef<Authenticator>('access.authenticator', {
  epoch: 'object?',
  authenticate: 'function',
})

/** Makes scoped tokens for the service's own command line: the first credential of a new box. */
export interface TokenMint {
  /** How many tokens there are, expired ones included. */
  count(): Promise<number>
  /** A new token with those roles, audited under `principal`. The text is shown here and never again. */
  mint(
    principal: Principal,
    name: string,
    roles: readonly Role[],
  ): Promise<{ readonly id: string; readonly token: string }>
  /** What opens the console as `principal`, once, until `expiresAtMs`: it stands behind # of the link. Audited. */
  link(principal: Principal): Promise<{ readonly token: string; readonly expiresAtMs: number }>
}
export const tokenMintRef: ServiceRef<TokenMint> = serviceRef<TokenMint>('access.token_mint', {
  count: 'function',
  mint: 'function',
  link: 'function',
})

// ---- provided by nodes ----

/** The states of the node lifecycle as requests and the store spell them. */
export type LifecycleState = 'provision' | 'register' | 'on_air' | 'peer' | 'breakout'
/** The lifecycle of this node, for those whose actions move it. */
export interface Lifecycle {
  state(): Promise<LifecycleState>
  /**
   * TX was armed: register → on_air (from provision too when this node holds a valid certificate).
   * Runs inside the caller's mutation; other states stay.
   */
  txArmed(tx: Tx): Promise<void>
  /** TX was disarmed: on_air, peer and breakout fall back to register. */
  txDisarmed(tx: Tx): Promise<void>
}
export const lifecycleRef: ServiceRef<Lifecycle> = serviceRef<Lifecycle>('nodes.lifecycle', {
  state: 'function',
  txArmed: 'function',
  txDisarmed: 'function',
})

/** What a node tells of itself, as it goes over the wire. Null: not known there. */
export interface NodeReport {
  readonly lifecycle: LifecycleState
  /** `999-99` */
  readonly plmn: string
  /** Whether its TX is armed. Null while its policy cannot be read. */
  readonly on_air: boolean | null
  /** Whether a base station is connected. */
  readonly radio_connected?: boolean | null
  /** What its radio is armed for: technology and channel, `lte 1575`. */
  readonly channel?: string | null
  /** Phones that are on. */
  readonly phones?: number | null
  /** SIMs that are issued, in use or suspended. */
  readonly sims?: number | null
  /** Octets of both directions since midnight in its time zone. */
  readonly octets_today?: number | null
  /** Changes of SIMs that its HSS does not have yet. */
  readonly backlog?: number | null
  /** Its outages, the gravest first. */
  readonly incidents?: readonly {
    readonly kind: string
    readonly severity: string
    readonly title: string
    readonly since: string
  }[]
}
/** What this node tells of itself. */
export interface NodeReporter {
  report(): Promise<NodeReport>
}
export const nodeReporterRef: ServiceRef<NodeReporter> = serviceRef<NodeReporter>('nodes.report', {
  report: 'function',
})

// ---- provided by policy ----

/** The policy bundle in force. */
export interface PolicyReader {
  /** A snapshot; never stale after the PUT that changed it was answered (on this instance). */
  bundle(): PolicyBundle
}
export const policyRef: ServiceRef<PolicyReader> = serviceRef<PolicyReader>('policy.bundle', {
  bundle: 'function',
})

/** State of the three layers and of the arm. */
export interface TxGateState {
  readonly armed: boolean
  readonly gates: {
    readonly country_code: 'set' | 'missing'
    readonly license_ack: 'set' | 'missing'
    readonly allow_list: 'set' | 'missing'
  }
  readonly profile: string | undefined
  /** What is armed; undefined while nothing is, or the provider does not say. */
  readonly radio?: RadioProfile | undefined
  /**
   * `off`: whatever was permitted to send has itself reported that it is off. `on`: something is permitted to send.
   * `unconfirmed`: it was told to stop and has not reported that it did: it may be on air.
   */
  readonly transmitter: 'off' | 'on' | 'unconfirmed'
}
/**
 * The note of a disarm in the data directory: JSON with `by`, and spaces up to `bytes`; all spaces where there is none. Who may write
 * there disarms by it: the guard of the radio reads it without the service, and the gate before anything goes on air.
 */
export const DISARM_NOTE = { file: 'tx-disarm.json', bytes: 2_048 } as const

/** A carrier that somebody wants to emit. Frequencies in kHz. */
export interface CarrierRequest {
  readonly technology: Technology
  readonly channel: number
  readonly band?: string | undefined
  readonly bandwidthMhz?: number | undefined
  readonly eirpDbm?: number | undefined
}
/** The TX gate. Every start of a transmitter asks it; nothing transmits while it says no. */
export interface TxGate {
  state(): Promise<TxGateState>
  /**
   * Throws `tx_not_armed` or `tx_gate_closed` unless this profile may transmit now. Asked before every spawn.
   *
   * The provider of `ran.transmitter` at that moment is the gate's business until it has reported that it is off, whatever
   * becomes of its plugin. While nobody provides one nothing is permitted: nothing could take it off the air.
   */
  permit(profileId: string): Promise<RadioProfile>
  /** Whether the three layers allow the carrier; throws when not. */
  permitCarrier(carrier: CarrierRequest): Promise<void>
}
export const txGateRef: ServiceRef<TxGate> = serviceRef<TxGate>('policy.tx_gate', {
  state: 'function',
  permit: 'function',
  permitCarrier: 'function',
})

// ---- provided by a plugin that keeps quotas ----

/** What a subscriber has used in a period, octets. */
export interface UsedOfQuota {
  /** In the present period of the quota; without a quota, in this month. */
  readonly usedBytes: number
  /** The quota with what was added for this period; undefined without a quota. */
  readonly limitBytes: number | undefined
}
/** What is used of quotas. Sims asks it where there is one. */
export interface QuotaKeeper {
  /** Of all of them; in `tx` when it is given. */
  used(imsis: readonly ImsiHash[], tx?: Tx): Promise<ReadonlyMap<ImsiHash, UsedOfQuota>>
  /** New subscribers have this quota, with the period and action of `like` where that has one. In the caller's mutation. */
  granted(tx: MutationTx, imsis: readonly ImsiHash[], quotaBytes: number, like?: ImsiHash): Promise<void>
  /**
   * A subscriber is about to be let on again, by whomever: whether its quota keeps it off. With `isOverride` it does not
   * for the rest of the period. In the caller's mutation.
   */
  keepsOff(tx: MutationTx, imsi: ImsiHash, isOverride: boolean): Promise<boolean>
}
export const quotaKeeperRef: ServiceRef<QuotaKeeper> = serviceRef<QuotaKeeper>('fair_use.quotas', {
  used: 'function',
  granted: 'function',
  keepsOff: 'function',
})

// ---- provided by a RAN driver ----

/** Whatever can emit. The gate stops it before a disarm is answered. */
export interface Transmitter {
  /**
   * Off the air, confirmed, when it resolves: whatever this copy has started, and what an earlier run has left behind.
   * Idempotent, also after its plugin has left. Rejects when it cannot be confirmed. It begins in the very turn of the call:
   * a start that was on its way comes to nothing.
   */
  stop(signal: AbortSignal): Promise<void>
  /**
   * Whether it is not known to be off, though its stop was confirmed: of one that runs by itself and can come back. The driver says
   * `Context.changed(transmitterRef)` when that changes. Absent of one that cannot.
   */
  mayBeOn?(): boolean
  /** Whether it is certainly off the air now, although it is permitted: its program has ended. Left out where nobody knows. */
  isSilent?(): boolean
}
export const transmitterRef: ServiceRef<Transmitter> = serviceRef<Transmitter>('ran.transmitter', {
  stop: 'function',
  mayBeOn: 'function?',
  isSilent: 'function?',
})
