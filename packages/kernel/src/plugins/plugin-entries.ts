import { join } from 'node:path'
import { type ComponentHealth, type Manifest, type PluginKind, pluginNotFound } from '@steeple/contracts'
import type { Section } from '@steeple/settings'
import semver from 'semver'
import type { HealthPoller } from '../health.ts'
import type { Catalogue } from '../plugin-packages/catalogue.ts'
import { configRemedy, reasonOf } from '../plugin-packages/failure.ts'
import type { FoundPlugin, RejectedPlugin } from '../plugin-packages/manifest.ts'
import type { LoadedThen } from '../telemetry/metrics.ts'
import type { PluginHost, RouteSet } from './host.ts'
import type { LivePlugin } from './live.ts'

/**
 * Where a plugin stands. `rejected`: its package is unusable. `found`: never loaded since the start. `needs_config`: a key
 * that it requires has no value, or a wrong one; it comes when that is mended.
 */
type PluginState =
  | 'found'
  | 'rejected'
  | 'disabled'
  | 'loading'
  | 'running'
  | 'needs_config'
  | 'failed'
  | 'unloaded'

/** What `GET /v1/plugins` shows of a plugin. */
export interface PluginRecord {
  /** The manifest's id. */
  readonly name: string
  /** The running version; the highest that is found when none runs. */
  readonly version: string
  /** Undefined when the package is unusable. */
  readonly kind: PluginKind | undefined
  readonly state: PluginState
  /** The worst of its components; `unknown` when it does not run or was not asked yet. */
  readonly health: ComponentHealth['status'] | 'unknown'
  /** When the running copy was started. */
  readonly loadedAtMs: number | undefined
  /** Why that was, in words. */
  readonly loadedBecause?: string | undefined
  /**
   * The last failure: step and reason. It stays while an older copy runs on, until a load or reload that succeeds, or until
   * the version that failed is gone.
   */
  readonly error: string | undefined
  readonly essential: boolean
  /** Every version that is found, the highest first. */
  readonly versions: readonly string[]
  /** Those of them that were installed, and can be uninstalled. */
  readonly installed: readonly string[]
  /** Who has signed that version, as `alice (1f2e-…)`; undefined for one of the build and one that nobody trusted has signed. */
  readonly signedBy: string | undefined
  /** What the running copy adds to the console, and to the lines of a first start. */
  readonly pages?: Manifest['pages']
  readonly panels?: Manifest['panels']
  readonly alerts?: Manifest['alerts']
  readonly certificates?: Manifest['certificates']
  /** The folder of its texts. */
  readonly textsDir?: string
  readonly welcome?: Manifest['welcome']
}

/** All that is known of one plugin beside what is kept over restarts and what lies on the disk. */
export interface PluginEntry {
  readonly id: string
  /** The copy that serves. */
  live?: LivePlugin | undefined
  /** Counts upwards with each plugin that comes: who came last leaves first. */
  place: number
  loadedAtMs?: number | undefined
  loadedBecause?: string
  /** What the process took before an installed version of it was loaded first. */
  rssBytes?: number
  /** Why the next copy comes; undefined at the start of the service. */
  because?: string | undefined
  isLoading: boolean
  wasUnloaded: boolean
  /** Routes that answer 503 while the copy before has left and the next is on its way. */
  away?: RouteSet | undefined
  /** The version that ran last or runs, and the one before it. */
  lastVersion?: string
  before?: string | undefined
  /** The version whose load failed last, and why; until that version or a later one runs. */
  failed?: { readonly found: FoundPlugin; readonly reason: string; readonly isWaiting: boolean } | undefined
  /** Highest version whose migrations were begun: those below run on its tables. */
  migrated?: string
  /** A version that was brought up on the tables as they are. */
  behind?: string
}

interface EntriesParts {
  readonly host: PluginHost
  readonly catalogue: Catalogue
  /** Why a version is left out; undefined when it is not. */
  readonly leftOutBecause: (found: FoundPlugin) => string | undefined
}

/** The entries of all plugins, by id. */
export class PluginEntries {
  readonly #parts: EntriesParts
  /** Versions that are set up and do not serve yet: what comes with them reads their keys. */
  readonly #coming = new Map<string, FoundPlugin>()
  readonly #entries = new Map<string, PluginEntry>()
  #lastPlace = 0

  constructor(parts: EntriesParts) {
    this.#parts = parts
  }

  of(id: string): PluginEntry {
    const known = this.#entries.get(id) ?? emptyEntry(id)
    this.#entries.set(id, known)
    return known
  }

  all(): readonly PluginEntry[] {
    return [...this.#entries.values()]
  }

  /** The copies that serve, in the order in which they came. */
  live(): readonly LivePlugin[] {
    return this.all()
      .toSorted((a, b) => a.place - b.place)
      .flatMap((entry) => entry.live ?? [])
  }

  loading({ manifest, origin }: FoundPlugin): void {
    const entry = this.of(manifest.id)
    entry.isLoading = true
    if (origin === 'installed') entry.rssBytes ??= process.memoryUsage.rss()
  }

  /** The plugins of which an installed version was loaded since the start. */
  loadedThen(): readonly LoadedThen[] {
    return this.all().flatMap(({ id, rssBytes, live }) =>
      rssBytes === undefined ? [] : [{ id, rssBytes, isGone: live?.found.origin !== 'installed' }],
    )
  }

  /** It serves now, and has yet to start. */
  entered(copy: LivePlugin): void {
    const entry = this.of(copy.found.manifest.id)
    if (entry.live === undefined) entry.place = ++this.#lastPlace
    entry.live = copy
    entry.away = undefined
  }

  running({ found }: LivePlugin): void {
    const entry = this.of(found.manifest.id)
    if (entry.lastVersion !== found.version) entry.before = entry.lastVersion
    entry.lastVersion = found.version
    entry.loadedAtMs = this.#parts.host.clock.nowMs()
    entry.loadedBecause = entry.because ?? 'the service has started'
    entry.because = undefined
    entry.isLoading = false
    entry.wasUnloaded = false
    const { failed } = entry
    if (failed !== undefined && semver.lte(failed.found.version, found.version)) entry.failed = undefined
  }

  left(id: string): void {
    const entry = this.of(id)
    entry.live = undefined
    entry.loadedAtMs = undefined
  }

  failed(found: FoundPlugin, error: unknown): void {
    const { host } = this.#parts
    const entry = this.of(found.manifest.id)
    const remedy = configRemedy(error)
    const isWaiting = remedy !== undefined
    const advice = isWaiting ? [remedy] : adviceOn(found)
    entry.failed = { found, reason: [reasonOf(error), ...advice].join('; '), isWaiting }
    entry.isLoading = false
    if (entry.live === undefined) {
      entry.loadedAtMs = undefined
      host.health.report(entry.id, failedHealth(found, isWaiting ? entry.failed.reason : 'it failed to load'))
    }
    const facts = { plugin: entry.id, version: found.version }
    if (isWaiting) host.log.warn({ ...facts, reason: reasonOf(error) }, 'plugin waits for its configuration')
    else host.log.error({ ...facts, err: error }, 'plugin failed')
  }

  /** Its last failure counts no more, nor its health when it does not run. */
  forgetFailure(id: string): void {
    const entry = this.of(id)
    entry.failed = undefined
    if (entry.live === undefined) this.#parts.host.health.forget(id)
  }

  /**
   * Has the health name whose signature is not believed, and the configuration judged by what one version of each plugin says of it: the one that is coming, the one that runs, or
   * the highest.
   */
  know(coming?: FoundPlugin): void {
    const { host, catalogue } = this.#parts
    if (coming === undefined) this.#coming.clear()
    else this.#coming.set(coming.manifest.id, coming)
    host.settings.know(
      this.#sections(
        (id) => this.#coming.get(id) ?? this.#entries.get(id)?.live?.found ?? catalogue.versions(id)[0],
      ),
    )
    reportTrust(
      host.health,
      catalogue,
      this.live().map(({ found }) => found),
    )
  }

  /** Throws `config_invalid` when the configuration would be wrong without what lies in these folders. */
  judgeWithout(folders: ReadonlySet<string>): void {
    const { host, catalogue } = this.#parts
    const stays = (found: FoundPlugin | undefined): boolean => found !== undefined && !folders.has(found.dir)
    host.settings.judge(
      this.#sections((id) =>
        [this.#entries.get(id)?.live?.found, ...catalogue.versions(id)].find((found) => stays(found)),
      ),
    )
  }

  /** What the version that is meant of each plugin says of the configuration. */
  #sections(meant: (id: string) => FoundPlugin | undefined): readonly Section[] {
    return this.#parts.catalogue.ids().flatMap((id) => meant(id)?.section ?? [])
  }

  /** Throws `plugin_not_found` for one that is neither found nor failed. */
  record(id: string): PluginRecord {
    const { host, catalogue } = this.#parts
    const entry = this.#entries.get(id) ?? emptyEntry(id)
    const found = entry.live?.found ?? catalogue.versions(id)[0] ?? entry.failed?.found
    if (found === undefined && catalogue.rejected(id) === undefined) throw pluginNotFound(id)
    const known = [entry.live?.found, entry.failed?.found]
      .flatMap((one) => one?.version ?? [])
      .sort(semver.rcompare)
    // The newest fault says more than one of an older version.
    const rejected = this.#rejectedLive(entry) ?? catalogue.rejectedAbove(id, known[0])
    return {
      name: id,
      version: found?.version ?? '',
      kind: found?.manifest.kind,
      state: this.#stateOf(entry, found),
      health: host.health.worst(id) ?? 'unknown',
      loadedAtMs: entry.loadedAtMs,
      loadedBecause: entry.loadedAtMs === undefined ? undefined : entry.loadedBecause,
      error:
        (rejected === undefined ? this.#failureOf(entry)?.reason : reasonOf(rejected.reason)) ??
        (found === undefined || entry.live !== undefined ? undefined : this.#parts.leftOutBecause(found)),
      essential: found?.manifest.essential ?? false,
      versions: catalogue.versions(id).map((one) => one.version),
      installed: catalogue
        .versions(id)
        .filter(({ origin }) => origin === 'installed')
        .map(({ version }) => version),
      signedBy: found?.signedBy,
      ...(entry.live === undefined ? {} : shownBy(entry.live.found)),
      welcome: entry.live?.found.manifest.welcome ?? [],
    }
  }

  records(): readonly PluginRecord[] {
    const live = this.live().map(({ found }) => found.manifest.id)
    return [...new Set([...this.#parts.catalogue.ids(), ...live])].sort().map((id) => this.record(id))
  }

  /** Why its last load failed; what failed beside a copy that runs counts for as long as it lies there. */
  #failureOf({ id, live, failed }: PluginEntry): PluginEntry['failed'] {
    if (failed === undefined || live === undefined || failed.found.origin === 'bundled') return failed
    const isThere = this.#parts.catalogue.installed(id).some(({ dir }) => dir === failed.found.dir)
    return isThere ? failed : undefined
  }

  /** What runs and may not be loaded any more: its key is not trusted now, its files are others. */
  #rejectedLive({ id, live }: PluginEntry): RejectedPlugin | undefined {
    const rejected = live === undefined ? undefined : this.#parts.catalogue.rejected(id, live.found.version)
    return rejected?.dir === live?.found.dir ? rejected : undefined
  }

  #stateOf(entry: PluginEntry, found: FoundPlugin | undefined): PluginState {
    if (entry.isLoading) return 'loading'
    if (entry.live !== undefined) return 'running'
    if (found !== undefined && this.#parts.leftOutBecause(found) !== undefined) return 'disabled'
    if (entry.failed !== undefined) return entry.failed.isWaiting ? 'needs_config' : 'failed'
    if (found === undefined) return 'rejected'
    return entry.wasUnloaded ? 'unloaded' : 'found'
  }
}

function emptyEntry(id: string): PluginEntry {
  return { id, place: 0, isLoading: false, wasUnloaded: false }
}

/** What can be done about an installed plugin that failed. */
function adviceOn({ origin, dir, version, manifest: { id } }: FoundPlugin): readonly string[] {
  if (origin === 'bundled') return []
  return [
    `its folder is ${dir}`,
    `svc plugin uninstall ${id} ${version} removes it, svc plugin load ${id} tries it again`,
  ]
}

/** What the board says of a plugin that is not running because it failed. The reason is in its record and the log. */
function failedHealth(found: FoundPlugin, detail: string): readonly ComponentHealth[] {
  const { id, kind, essential = false } = found.manifest
  return [{ name: id, kind, status: 'down', detail, required: essential }]
}

/** What a copy adds to the console and to alerts. */
function shownBy({
  manifest,
  dir,
}: FoundPlugin): Pick<PluginRecord, 'pages' | 'panels' | 'alerts' | 'certificates' | 'textsDir'> {
  const { pages = [], panels = [], alerts = {}, certificates = {}, texts } = manifest
  return {
    pages,
    panels,
    alerts,
    certificates,
    ...(texts === undefined ? {} : { textsDir: join(dir, texts) }),
  }
}

/** The component that names installed plugins which run and whose signature is not believed. */
const TRUST = 'plugins.trust'

/**
 * Has the health name what runs without the signature of somebody in `plugins.trust`: `ok` what was let in on purpose, `degraded`
 * what no start would load again.
 */
function reportTrust(health: HealthPoller, catalogue: Catalogue, running: readonly FoundPlugin[]): void {
  const installed = running.filter(({ origin }) => origin === 'installed')
  const refused = installed.flatMap((found) => {
    const { id } = found.manifest
    const rejected = catalogue.rejected(id, found.version)
    return rejected?.dir === found.dir ? [`${id} ${found.version} (${rejected.reason})`] : []
  })
  const unsigned = installed.filter((found) => isUnsigned(found, catalogue)).map(named)
  if (refused.length + unsigned.length === 0) {
    health.forget(TRUST)
    return
  }
  const parts = [
    ...(refused.length === 0 ? [] : [`runs, and the next start would not load it: ${refused.join(', ')}`]),
    ...(unsigned.length === 0
      ? []
      : [`runs without a signature of plugins.trust, let in by --allow-unsigned: ${unsigned.join(', ')}`]),
  ]
  const component: ComponentHealth = {
    name: TRUST,
    kind: 'feature',
    status: refused.length === 0 ? 'ok' : 'degraded',
    detail: parts.join('; '),
  }
  health.report(TRUST, [component])
}

/** By what lies there now: a key may have become trusted since it was loaded. What is gone is as it was. */
function isUnsigned({ manifest, dir, signedBy }: FoundPlugin, catalogue: Catalogue): boolean {
  const there = catalogue.versions(manifest.id).find((one) => one.dir === dir)
  if (there !== undefined) return there.signedBy === undefined
  return catalogue.installed(manifest.id).every((one) => one.dir !== dir) && signedBy === undefined
}

function named({ manifest, version }: FoundPlugin): string {
  return `${manifest.id} ${version}`
}
