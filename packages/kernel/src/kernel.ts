import type { AuditTrail, Clock, HealthBoard, Log, NodeIdentity, ServiceInfo, ServiceRef, Settings, Vault } from '@steeple/contracts'
import type { Mutations, Outbox } from './mutation/mutations.ts'
import type { HttpEdge } from './plugins/edge.ts'
import type { PluginRegistry } from './plugins/registry.ts'
import type { Database } from './store/database.ts'

/** The running kernel: what the edge and the composition root may use. */
export interface Kernel {
  readonly settings: Settings
  readonly log: Log
  readonly clock: Clock
  readonly db: Database
  readonly mutations: Mutations
  readonly outbox: Outbox
  readonly audit: AuditTrail
  readonly vault: Vault
  readonly identity: NodeIdentity
  readonly info: ServiceInfo
  readonly health: HealthBoard
  readonly registry: PluginRegistry
  /** The service as long as somebody provides it. */
  service<T extends object>(ref: ServiceRef<T>): T | undefined
  /** The text exposition of all metric registries (kernel's and every live plugin's). */
  metricsText(): Promise<string>
  /** Runs after each change of `settings` (SIGHUP). */
  onSettings(listener: () => void): void
  /** Connects the HTTP edge; call before loading plugins. */
  attach(edge: HttpEdge): void
  /** Stops everything in order: routes drained, plugins stopped, store closed. */
  close(): Promise<void>
}
