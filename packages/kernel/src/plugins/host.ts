import type { Clock, JsonSchema, Log, Settings } from '@steeple/contracts'
import type { HealthPoller } from '../health.ts'
import type { MetricsBoard } from '../metrics.ts'
import type { Mutations } from '../mutation/mutations.ts'
import type { ReconcileEngine } from '../reconcile/reconcile-engine.ts'
import type { Database } from '../store/database.ts'
import type { Timers } from '../timers.ts'
import type { HttpEdge } from './edge.ts'
import type { ServiceContainer } from './service-container.ts'

/** The configuration as plugins see it. */
export interface SettingsAccess {
  /** The whole configuration as it stands now. */
  current(): Settings
  /**
   * The part at a dotted path, checked by the plugin's own schema (when it has one) with defaults filled in.
   * Throws `config_invalid`.
   */
  configFor(path: string, schema: JsonSchema | undefined): unknown
  /** Runs after each change (SIGHUP), with the new configuration in place. Returns what takes the listener away. */
  onChange(listener: () => void): () => void
}

/** What of the kernel the registry gives to plugins. */
export interface PluginHost {
  readonly edge: HttpEdge
  readonly db: Database
  readonly mutations: Mutations
  readonly log: Log
  /** The log of one plugin: every line names it. */
  readonly logOf: (plugin: string) => Log
  readonly clock: Clock
  readonly timers: Timers
  readonly settings: SettingsAccess
  readonly metrics: MetricsBoard
  readonly reconciler: ReconcileEngine
  readonly services: ServiceContainer
  readonly health: HealthPoller
}
