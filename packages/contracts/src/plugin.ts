import type { ClosedItem } from './closed-items.ts'
import type { PluginCommand } from './command.ts'
import type { CapabilityNeed, DoctorPlace, Finding, Look } from './doctor.ts'
import type { IncidentKind } from './incidents.ts'
import type { Reconciler, RunsOn } from './reconciler.ts'
import type { Principal, Role } from './roles.ts'
import type { Reply, Route } from './route.ts'
import type { ServiceRef } from './service-ref.ts'
import type { AlertRule, Settings } from './settings.ts'
import type { Db, Migration, MutationTx, ObservedTx, Reader, Tx } from './store.ts'
import type { TableSpec } from './table.ts'

/** What a plugin is; drivers of a kind provide that kind's service (see drivers.ts) and pass its conformance suite. */
export type PluginKind = 'core' | 'hss' | 'ran' | 'collector' | 'feature'

/** How the documentation shows the routes under a path: with which others, what people do with them, how far up. */
export interface PathGroup {
  readonly group?: string
  readonly about?: string
  /** Groups with a lower one come first; at the end when absent. */
  readonly rank?: number
}

/** An error that a plugin brings: `snake_case`, its HTTP status, what it means. */
export interface ErrorCode {
  readonly code: string
  readonly status: number
  readonly meaning: string
}

/**
 * An alert rule that a plugin brings: the metric with its threshold, the kind of incident, or the service (`AlertSource`) that
 * says when it fires. The plugin alerts judges its own.
 */
export interface ManifestRule extends Partial<Omit<AlertRule, 'name'>> {
  readonly severity: AlertRule['severity']
  /** The value that ends it; the threshold when absent. */
  readonly clear?: number
  /** How long it must be well before it ends; as `for` when absent. */
  readonly clear_for?: string
  readonly incident?: IncidentKind
  /** Id of a service of this plugin. */
  readonly source?: string
  /** Of a source: what is said of `{subject}` and `{value}`. */
  readonly message?: string
}

/** `package.json#steeple`: read and checked before any code of the plugin runs. Name and version are the package's. */
export interface Manifest {
  /** kebab-case, unique; owns tables `<id_>*` and metrics `svc_<id_>*` (dashes as underscores). */
  readonly id: string
  readonly kind: PluginKind
  /** Semver range of `@steeple/contracts` that the plugin was built for. */
  readonly contracts: string
  /** Dotted path of what it gets as `Context.config`, e.g. `fairuse`. */
  readonly config_path: string
  /** The JSON Schema of its keys, a file of the package (`./config.schema.json`); see docs/reference/plugins.md. Absent: it has none. */
  readonly config?: string
  /** Error codes of its own. An answer may carry them; a route names them in `errors`. */
  readonly errors?: readonly ErrorCode[]
  /** Metrics that it registers, with what they say. Alert rules may name any of them. */
  readonly metrics?: Readonly<Record<string, string>>
  /** Alert rules, by name; `alerts.rule.<name>` and `alerts.do.<name>` of its texts say what is wrong and what to do. */
  readonly alerts?: Readonly<Record<string, ManifestRule>>
  /** Metrics that say for how many seconds its certificates are good, with what those are called in alerts. */
  readonly certificates?: Readonly<Record<string, string>>
  /**
   * What its routes begin with, `/v1/sims/:imsi/notes` where they lie under another plugin's. While it is not there they
   * answer 404 `feature_not_installed`.
   */
  readonly paths?: Readonly<Record<string, PathGroup>>
  /**
   * Pages that it adds to the console, gone with it. The module of each exports `mount(root, place)`: it draws into the element, by
   * whatever means, and gives back a function that takes it away. `place` has `client` (of `@steeple/client`, signed in), the `params` of
   * the path, and the reader's `locale`. A module that is built on the kit of the console exports a component `Page` instead.
   */
  readonly pages?: readonly {
    /** `/notes/:id`; its first segment is none of a route. */
    readonly path: string
    /** The name in the menu, by language: `en` always. */
    readonly title: { readonly en: string; readonly [language: string]: string }
    /** Without it the page is not shown. The routes behind it decide for themselves. */
    readonly role: Exclude<Role, 'node'>
    /** Where it stands in the menu; absent: it is reached from another page. */
    readonly group?: 'now' | 'people' | 'network' | 'care' | 'box'
    /** Its icon in the menu, one of those that docs/how-to/console.md lists. Absent, or unknown to the console: `puzzle`. */
    readonly icon?: string
    /** Where in its group: 10 is above 20. Absent: last. */
    readonly place?: number
    /** The key that leads to it, a letter that no other page has. */
    readonly key?: string
    /** Kinds of incidents and rules of alerts that are looked at and mended there. */
    readonly mends?: readonly string[]
    /** Where the module is served, by `staticRoutes` for instance: `/notes-files/page.0a1b2c3d.js`. */
    readonly module: string
  }[]
  /**
   * Pieces that it shows on pages of the console that are not its own: `on` which place (docs/how-to/console.md lists them), to whom,
   * and the module, which exports a component `Panel`.
   */
  readonly panels?: readonly {
    readonly on: string
    readonly role: Exclude<Role, 'node'>
    /** Where among others of that place: 10 is above 20. Absent: last. */
    readonly place?: number
    readonly module: string
  }[]
  /**
   * The folder of its texts in the console (`./texts`), `<language>.json` each, `en.json` always: those of its pages, and the words for its
   * audit actions (`audit.do.<action>`), events (`event.<type>`) and errors (`problem.<code>`).
   */
  readonly texts?: string
  /** Commands that it adds to `svc`: operations of its routes as data, or code of its own. */
  readonly commands?: readonly PluginCommand[]
  /** Addresses that a first start shows, `name` before them; `signed_in` with a token for `{token}` that signs in once, on a screen. */
  readonly welcome?: readonly { readonly name: string; readonly path: string; readonly signed_in?: string }[]
  /** Variables that `svc lab` sets, where nobody has. */
  readonly lab?: Readonly<Record<string, string>>
  /** Service ids that must be provided by others before it can load. */
  readonly requires?: readonly string[]
  /** Service ids that it provides. */
  readonly provides?: readonly string[]
  /**
   * Loads only while the configuration key has one of these values: of several drivers of a kind, one is chosen. The key may
   * have any value that an installed plugin names so.
   */
  readonly selected_by?: { readonly key: string; readonly values: readonly string[] }
  /** `exclusive`: the old instance stops before the new one starts (it owns a port, a process, a device). */
  readonly handover: 'overlap' | 'exclusive'
  /** Part of every build: cannot be unloaded. */
  readonly essential?: boolean
  /** Works on the machine itself (a radio, an interface): loads only on the instance that `cluster.machine` names. */
  readonly machine?: boolean
}

/** Languages of the console and of printed cards, ISO 639-1. A plugin's `texts` may have a file for each. */
export const LANGUAGES = ['de', 'en', 'es', 'fr', 'pt'] as const
export type Language = (typeof LANGUAGES)[number]

/** A plugin that runs, and what it adds to the console and to alerts. */
export interface RunningPlugin extends Pick<Manifest, 'pages' | 'panels' | 'alerts' | 'certificates'> {
  readonly name: string
  readonly version: string
  /** The folder of its texts; absent: it has none. */
  readonly textsDir?: string
}

/** What a plugin says of one thing it watches. `name` is unique within the plugin. */
export interface ComponentHealth {
  readonly name: string
  readonly kind: 'core' | 'hss' | 'ran' | 'collector' | 'store' | 'feature' | 'peer'
  readonly status: 'ok' | 'degraded' | 'down'
  readonly detail: string
  /** Whether the node counts as degraded while this is not ok. */
  readonly required?: boolean
  /** What operators call it while this is not ok; by its kind where nothing is said. */
  readonly incident?: IncidentKind
  /** What of `name` and `detail` somebody has chosen, such as the name of a receiver: support bundles do not show it. */
  readonly chosen?: string
}

/** What one live copy of a plugin contributes. Data only: the kernel registers and removes it. */
export interface Instance {
  readonly routes?: readonly Route[]
  readonly reconcilers?: readonly Reconciler[]
  /** Services by `ServiceRef.id`; every function of a service is async or pure. */
  readonly services?: ReadonlyMap<string, object>
  start?(): Promise<void>
  /** Asked every few seconds, and after `Context.healthChanged`; must answer within 2 s and change nothing. */
  health?(): Promise<readonly ComponentHealth[]>
  /**
   * Ends what this copy does in the world by itself (a transmitter), confirmed when it resolves; nothing of the kind may
   * begin in it afterwards. Called before anything else when the copy leaves, however it leaves: before its routes and
   * services are withdrawn, and before anything is waited for. Bounded by 7 s; when it rejects the copy leaves all the same.
   */
  quiesce?(why: 'unload' | 'upgrade' | 'shutdown'): Promise<void>
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
  /**
   * Why the machine's clock is not believed now; undefined (or absent) while it is. `nowMs` goes on from the last
   * plausible moment meanwhile. What ends or removes something for good because of its age waits until it is believed.
   */
  doubt?(): string | undefined
}

/** A committed change of state. `id` grows in commit order and is the same however often the event comes. */
export interface StateEvent {
  readonly id: number
  /** Ms since the epoch. */
  readonly atMs: number
  /** As the audit action, `sim.issue`, or what the mutation called it. */
  readonly type: string
  readonly subject: string
  readonly data: Readonly<Record<string, unknown>>
}

/** What a copy of a plugin gets at setup. */
export interface Context<Config = unknown> {
  readonly plugin: { readonly id: string; readonly version: string }
  /** The plugin's own configuration, validated, defaults filled in. */
  readonly config: Config
  /** The whole configuration as it stands now (no secrets are in it). Read it when needed, don't keep it. */
  readonly settings: Settings
  /**
   * The value of a key of this plugin that its schema marks with `x-secret`: from the file whose path the key holds, else
   * what `svc secret set` has sealed; undefined when neither is there. Ask when it is needed, don't keep it. Only this
   * plugin can read it, and no log shows it. Throws `not_found` (no such key), `secrets_invalid` (the file).
   */
  secret(key: string): Promise<string | undefined>
  readonly log: Log
  readonly db: Db
  readonly metrics: Metrics
  readonly clock: Clock
  /** Fires when the routes are withdrawn: end streams and loops. */
  readonly retiring: AbortSignal
  /** Runs newest first, after the last request has drained. Whoever opens closes. */
  defer(step: () => void | Promise<void>): void
  /** Runs `task` every `everyMs` ± 10 %, never twice at a time, until the plugin leaves; by the leader when nothing is said. */
  every(everyMs: number, task: (signal: AbortSignal) => Promise<void>, runs?: RunsOn): void
  /** Runs when `settings` have changed (SIGHUP), with the new ones in place. */
  onSettings(listener: () => void): void
  /**
   * Tells of each committed event of a type (`sim.issue`), or of all of a noun (`sim.*`), in order and at least once. Call
   * it in `setup` or `start`, once per type.
   *
   * How far the handler came is kept in the store: after a restart, an upgrade or a crash it goes on there; the first time
   * it begins with what is committed from the call on. When it throws (or takes longer than a minute) the same event comes
   * again with back-off, the later ones wait, and the health says so. Of several instances the leader handles it. With
   * `each` nothing is kept and every instance hears of all from its start on, which is what a cache needs. Events are kept
   * for a week.
   */
  on(type: string, handler: (event: StateEvent, signal: AbortSignal) => Promise<void>, runs?: RunsOn): void
  /**
   * Runs when the service comes, goes or is replaced, and when its provider says that it `changed`. The handler gets what
   * `maybe` gives now; what it throws is logged.
   */
  onChange<T extends object>(
    ref: ServiceRef<T>,
    handler: (service: T | undefined) => void | Promise<void>,
  ): void
  /** Says that a service of this plugin gives other answers than before: who listens with `onChange` is told at once. */
  changed(ref: ServiceRef<object>): void
  /**
   * Says that `Instance.health` may give another status than before: it is asked at once and not only in its turn, so that who watches
   * sees it as it happens.
   */
  healthChanged(): void
  /** The service as long as somebody provides it; follows upgrades of its provider. Throws `plugin_dependency_missing`. */
  use<T extends object>(ref: ServiceRef<T>): T
  /** As `use`, but undefined when nobody provides it now. Ask again each time. */
  maybe<T extends object>(ref: ServiceRef<T>): T | undefined
  /**
   * The present provider's own object: it follows no upgrade and can be called even when its plugin has left. For what
   * must be asked of that very copy; undefined when nobody provides the service now.
   */
  provider<T extends object>(ref: ServiceRef<T>): T | undefined
  /** Asks for a reconcile soon. An urgent key comes before all that are not. */
  enqueue(resource: string, key: string, isUrgent?: boolean): void
  /** The mutation path for work that no request asked for (scheduler, self-disarm). One transaction with audit and event. */
  mutate(
    principal: Principal,
    action: string,
    target: string,
    work: (tx: MutationTx) => Promise<void>,
  ): Promise<void>
  /**
   * Writes observed state as `db.write` does, and tells of it in the same transaction: events without an audit entry, for
   * what happens by itself in a network (a session that begins), too often for a trail of who did what.
   * It may take 30 s, and has a commit of its own; other writers wait meanwhile.
   */
  observe<T>(work: (tx: ObservedTx) => Promise<T>): Promise<T>
}

/** What a plugin is told of the restore of its tables. Times are ms since the epoch. */
export interface RestoredAt {
  readonly takenAtMs: number
  readonly nowMs: number
  /** Undefined when the backup is of another node. */
  readonly present?: PresentTables
  /** Closes what is good for one use and may have been used since `takenAtMs`; `closedItemsRef` knows of it then. */
  close(item: ClosedItem): void
}

/** The tables of a plugin that those of a backup of the same node are about to replace. */
export interface PresentTables {
  readonly db: Reader
  /** Seals for the store that comes what is sealed in this one; undefined when it cannot be opened. */
  reseal(sealed: Uint8Array, rowId: string): Uint8Array | undefined
}

/** What a plugin has for `svc doctor`. */
type Checkup = readonly (Finding | Look | CapabilityNeed)[]

/** The value that a plugin package exports as `plugin`. Importing the package does nothing else. */
export interface Plugin<Config = unknown> {
  readonly migrations?: readonly Migration[]
  /** Its checksummed tables (`defineTable`), for the integrity scan. */
  readonly tables?: readonly TableSpec[]
  /**
   * Runs on its tables as a backup held them, once, before they take the place of the present ones: ends what must not come
   * back by itself (a session, a transmitter that was armed), and closes what is good for one use. Of an installed plugin it runs when the backup brings the version
   * that runs now.
   */
  restored?(tx: Tx, at: RestoredAt): Promise<void>
  /**
   * What `svc doctor` looks at for these settings, and what this has found itself. It runs in the command, without a store and without
   * `setup`, where the service would load the plugin; it starts nothing and changes nothing.
   */
  doctor?(at: DoctorPlace<Config>): Checkup | Promise<Checkup>
  /** Opens what it needs and says what it contributes; acts only in `Instance.start`. */
  setup(context: Context<Config>): Promise<Instance>
}

/** Helper for handlers without a change: `ok(body)`. */
export function ok(body: unknown): Reply {
  return { status: 200, body }
}
