import type {
  AuditTrail,
  Clock,
  ComponentHealth,
  HealthBoard,
  Log,
  NodeIdentity,
  ServiceInfo,
  ServiceRef,
  Settings,
  Vault,
} from '@steeple/contracts'
import type { LoadedConfig, SettingInForce } from '@steeple/settings'
import type { Database } from '@steeple/store'
import type { Mutations, Outbox } from './mutation/mutations.ts'
import type { HttpEdge } from './plugins/edge.ts'
import type { PluginRegistry } from './plugins/registry.ts'
import type { KernelLog } from './telemetry/log.ts'
import type { KernelMetrics } from './telemetry/metrics.ts'
import type { Tracing } from './telemetry/tracing.ts'

/** How the work of a kernel begins. */
interface BeginOptions {
  /** Nothing was in the store before this start, so there is nothing to scan before tomorrow. */
  readonly isStoreNew?: boolean
}

/** The running kernel: what the edge and the composition root may use. */
export interface Kernel {
  readonly settings: Settings
  /** The edge's log: its lines are of the component `http`. */
  readonly log: Log & Pick<KernelLog, 'plain'>
  /** Traces of what is done, where a plugin keeps them. */
  readonly tracing: Tracing
  readonly clock: Clock
  readonly db: Database
  readonly mutations: Mutations
  readonly outbox: Outbox
  readonly audit: AuditTrail
  readonly vault: Vault
  readonly identity: NodeIdentity
  readonly info: ServiceInfo
  readonly health: HealthBoard
  /** Has `check` asked with the others, for what belongs to no plugin; its components are called as the owner or begin so. */
  watchHealth(owner: string, check: () => Promise<readonly ComponentHealth[]>): void
  readonly registry: PluginRegistry
  /** Whether the first reconcile pass is over and no reconcile runs or is due now. */
  readonly isSettled: boolean
  /** The service as long as somebody provides it. */
  service<T extends object>(ref: ServiceRef<T>): T | undefined
  /** The text exposition of all metric registries (kernel's and every live plugin's). */
  metricsText(): Promise<string>
  /** Grows whenever a plugin's metrics come, go or are exchanged: a text from before is not to be shown any more. */
  metricsRevision(): number
  /** What routes of plugins begin with, and whose they are; also of plugins that are not here. */
  features(): readonly { readonly prefix: string; readonly plugin: string }[]
  /** Every key of the configuration, what is in force of it and how it is set; values without secrets. */
  settingsInForce(): readonly SettingInForce[]
  /** Runs after each change of `settings` (SIGHUP). */
  onSettings(listener: () => void): void
  /** The kernel's own metric registry, for the edge's series. */
  readonly metrics: KernelMetrics
  /** 32 secret bytes for the signatures of list cursors; the same after each start. */
  cursorSecret(): Uint8Array
  /** Connects the HTTP edge; call before loading plugins. */
  attach(edge: HttpEdge): void
  /** Lets periodic work, health checks and the first integrity scan begin; call when the edge listens. */
  begin(options?: BeginOptions): void
  /** Puts another configuration in force as far as that goes without a restart (SIGHUP). */
  reload(next: LoadedConfig): Promise<void>
  /** Resolves when another state was put in the place of this one: end the service, `completeRestore`, start anew. */
  readonly replaced: Promise<void>
  /**
   * Ends what plugins do in the world (a transmitter), before anything that an end of the service waits for. Call it first,
   * then close the edge, then `close`.
   */
  quiesce(): Promise<void>
  /** Stops everything in order: routes drained, plugins stopped, store closed. */
  close(): Promise<void>
}
