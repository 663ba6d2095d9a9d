import type { Clock, ErrorCode, Log, OwnRoutes, PathGroup, Route, Settings } from '@steeple/contracts'
import type { Section, SettingsChange } from '@steeple/settings'
import type { Database } from '@steeple/store'
import type { Timers } from '../clock/deadline.ts'
import type { HealthPoller } from '../health.ts'
import type { Mutations } from '../mutation/mutations.ts'
import type { Subscriptions } from '../mutation/outbox.ts'
import type { Placement } from '../reconcile/leadership.ts'
import type { ReconcileEngine } from '../reconcile/reconcile-engine.ts'
import type { Reasons } from '../reconcile/scheduler.ts'
import type { MetricsBoard } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import type { PluginSecrets } from './plugin-secrets.ts'
import type { ServiceContainer } from './service-container.ts'

/** The configuration as plugins see it. */
export interface SettingsAccess {
  /** The whole configuration as it stands now. */
  current(): Settings
  /** Takes in what the manifests of the plugins that are found say of the configuration. */
  know(sections: readonly Section[]): void
  /** Throws `config_invalid` when the configuration would be wrong by these sections. Changes nothing. */
  judge(sections: readonly Section[]): void
  /** What a plugin gets as its own, checked, defaults filled in. Throws `config_invalid`: see `isWaitingFor`. */
  configFor(section: Section): unknown
  /** The keys under a plugin's path that are not what they were, and when each takes effect. */
  changes(before: Settings, configPath: string): readonly SettingsChange[]
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
  readonly events: Subscriptions
  readonly services: ServiceContainer
  readonly tracing?: Tracing
  readonly secrets: PluginSecrets
  readonly health: HealthPoller
  /** Called before code runs that was installed: from then on what keeps the event loop from turning ends the process. */
  readonly watchLoop?: () => void
  /** What runs on this instance; everything when absent. */
  readonly placement?: Placement
  /** When schedules look before their time; never when absent. */
  readonly reasons?: Reasons
}

/** The routes of one live plugin. `retiring` ends its streams when it leaves. */
export interface RouteSet {
  readonly plugin: string
  readonly routes: readonly Route[]
  /** Error codes of its own. */
  readonly errors?: readonly ErrorCode[]
  /** How the documentation shows what is under its path prefixes. */
  readonly paths?: Readonly<Record<string, PathGroup>>
  readonly retiring: AbortSignal
  /** Whether the plugin was installed: unlike those of the build, nobody has tested it against this edge. */
  readonly isInstalled?: boolean
}

/** A built, not yet serving set of routes. Opaque to the kernel. */
export interface EdgeGeneration {
  readonly sets: readonly RouteSet[]
}

/** What serves routes. The api package implements it; tests may use one that serves nothing. */
export interface HttpEdge {
  /** Builds everything; throws on a duplicate route or a schema that does not compile. Changes nothing. */
  build(sets: readonly RouteSet[]): Promise<EdgeGeneration>
  /** Serves `next` from the next request on. Resolves when the requests of the old one are over (at most 5 s). */
  swap(next: EdgeGeneration): Promise<void>
  /** Its own metrics in the text exposition format; they are none of the kernel's. */
  metricsText?(): string
  /** The routes that serve now, asked without HTTP. */
  readonly ownRoutes?: OwnRoutes
}
