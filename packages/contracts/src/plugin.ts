import type { JsonSchema } from './json-schema.ts'
import type { Principal } from './roles.ts'
import type { Reply, Route } from './route.ts'
import type { ServiceRef } from './service-ref.ts'
import type { Settings } from './settings.ts'
import type { Db, Migration, MutationTx } from './store.ts'
import type { TableSpec } from './table.ts'

/** What a plugin is; drivers of a kind provide that kind's service (see drivers.ts) and pass its conformance suite. */
export type PluginKind = 'core' | 'hss' | 'ran' | 'collector' | 'feature'

/** `package.json#steeple`: read and checked before any code of the plugin runs. Name and version are the package's. */
export interface Manifest {
  /** kebab-case, unique; owns tables `<id_>*` and metrics `svc_<id_>*` (dashes as underscores). */
  readonly id: string
  readonly kind: PluginKind
  /** Semver range of `@steeple/contracts` that the plugin was built for. */
  readonly contracts: string
  /** Dotted path of its configuration, e.g. `fairuse`. */
  readonly config_path: string
  /** Service ids that must be provided by others before it can load. */
  readonly requires?: readonly string[]
  /** Service ids that it provides. */
  readonly provides?: readonly string[]
  /** Loads only while the configuration key has that value: several drivers of a kind, one of them chosen. */
  readonly selected_by?: { readonly key: string; readonly value: string }
  /** `exclusive`: the old instance stops before the new one starts (it owns a port, a process, a device). */
  readonly handover: 'overlap' | 'exclusive'
  /** `process`: runs in its own child process (native code, raw sockets). Such a plugin has no store handle. */
  readonly isolation: 'inline' | 'process'
  /** Part of every build: cannot be unloaded. */
  readonly essential?: boolean
}

/** What one reconcile step found. A throw backs off; a `terminal` outcome waits until desired state changes. */
export type Outcome =
  | { readonly state: 'converged' }
  | { readonly state: 'pending'; readonly afterMs: number; readonly reason: string }
  | { readonly state: 'terminal'; readonly reason: string }

/** Level-based: gets keys, reads desired and observed state itself, does at most one step each, says when to look again. */
export interface Reconciler {
  /** e.g. `sim`, `core_config`; unique over all plugins. */
  readonly resource: string
  /** Full look at all keys, with jitter, to catch drift. */
  readonly resyncMs: number
  /** At most so many keys per call; 1 when absent. */
  readonly batch?: number
  /** Bound on one call; 60 s when absent. */
  readonly timeoutMs?: number
  /** Every key that exists. Called at start and at each resync. */
  keys(): Promise<readonly string[]>
  /** One outcome per key; a key without one counts as converged. A throw counts for all keys of the call. */
  reconcile(keys: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Outcome>>
}

/** What a plugin says of one thing it watches. `name` is unique within the plugin. */
export interface ComponentHealth {
  readonly name: string
  readonly kind: 'core' | 'hss' | 'ran' | 'collector' | 'store' | 'feature' | 'peer'
  readonly status: 'ok' | 'degraded' | 'down'
  readonly detail: string
  /** Whether the node counts as degraded while this is not ok. */
  readonly required?: boolean
}

/** What one live copy of a plugin contributes. Data only: the kernel registers and removes it. */
export interface Instance {
  readonly routes?: readonly Route[]
  readonly reconcilers?: readonly Reconciler[]
  /** Services by `ServiceRef.id`; every function of a service is async or pure. */
  readonly services?: ReadonlyMap<string, object>
  start?(): Promise<void>
  /** Asked every few seconds; must answer within 2 s and change nothing. */
  health?(): Promise<readonly ComponentHealth[]>
  stop?(why: 'unload' | 'upgrade' | 'shutdown'): Promise<void>
}

/** Facts and a constant message, one line per event. Redaction is the kernel's, secrets are still the caller's fault. */
export interface Log {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** Labels from a closed set; never an identifier of a subscriber. */
export type Labels = Readonly<Record<string, string>>

/** Metrics of one plugin: names begin with `svc_<plugin_>`, or are the specification's own. Gone when it unloads. */
export interface Metrics {
  counter(name: string, help: string, labels?: readonly string[]): { inc(labels?: Labels, by?: number): void }
  gauge(name: string, help: string, labels?: readonly string[]): { set(value: number, labels?: Labels): void }
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly string[],
  ): { observe(value: number, labels?: Labels): void }
}

/** Time that tests can drive. `nowMs` is ms since the epoch; `monotonicMs` never goes back. */
export interface Clock {
  nowMs(): number
  monotonicMs(): number
}

/** What a copy of a plugin gets at setup. */
export interface Context<Config = unknown> {
  readonly plugin: { readonly id: string; readonly version: string }
  /** The plugin's own configuration, validated, defaults filled in. */
  readonly config: Config
  /** The whole configuration as it stands now (no secrets are in it). Read it when needed, don't keep it. */
  readonly settings: Settings
  readonly log: Log
  readonly db: Db
  readonly metrics: Metrics
  readonly clock: Clock
  /** Fires when the routes are withdrawn: end streams and loops. */
  readonly retiring: AbortSignal
  /** Runs newest first, after the last request has drained. Whoever opens closes. */
  defer(step: () => void | Promise<void>): void
  /** Runs `task` every `everyMs` ± 10 %, never twice at a time, until the plugin leaves. */
  every(everyMs: number, task: (signal: AbortSignal) => Promise<void>): void
  /** Runs when `settings` have changed (SIGHUP), with the new ones in place. */
  onSettings(listener: () => void): void
  /** The service as long as somebody provides it; follows upgrades of its provider. Throws `plugin_dependency_missing`. */
  use<T extends object>(ref: ServiceRef<T>): T
  /** As `use`, but undefined when nobody provides it now. Ask again each time. */
  maybe<T extends object>(ref: ServiceRef<T>): T | undefined
  /** Asks for a reconcile soon. */
  enqueue(resource: string, key: string): void
  /** The mutation path for work that no request asked for (scheduler, self-disarm). One transaction with audit and event. */
  mutate(
    principal: Principal,
    action: string,
    target: string,
    work: (tx: MutationTx) => Promise<void>,
  ): Promise<void>
}

/** The value that a plugin package exports as `plugin`. Importing the package does nothing else. */
export interface Plugin<Config = unknown> {
  /** Schema of the configuration at `config_path`; keywords `x-env` and `x-apply` per property. */
  readonly config?: JsonSchema
  readonly migrations?: readonly Migration[]
  /** Its checksummed tables (`defineTable`), for the integrity scan. */
  readonly tables?: readonly TableSpec[]
  /** Opens what it needs and says what it contributes; acts only in `Instance.start`. */
  setup(context: Context<Config>): Promise<Instance>
}

/** Helper for handlers without a change: `ok(body)`. */
export function ok(body: unknown): Reply {
  return { status: 200, body }
}
