import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  createTurns,
  isServiceError,
  notReady,
  type Plugin,
  pluginNotFound,
  pluginStateConflict,
  type TableSpec,
  type Tx,
} from '@steeple/contracts'
import type { Section } from '@steeple/settings'
import { lockDataDir } from '../composition/data-dir-lock.ts'
import { type Blame, createBlame } from '../plugin-packages/blame.ts'
import { Catalogue, type PluginSources } from '../plugin-packages/catalogue.ts'
import { installPackage } from '../plugin-packages/install.ts'
import { createKeptStates } from '../plugin-packages/kept-states.ts'
import { createLoader } from '../plugin-packages/loader.ts'
import { type FoundPlugin, installedName } from '../plugin-packages/manifest.ts'
import { createContentRecord } from '../plugin-packages/trust.ts'
import { memoryHealth, memoryNow } from '../telemetry/metrics.ts'
import type { PluginHost } from './host.ts'
import type { LivePlugin } from './live.ts'
import {
  bring,
  keptVersion,
  type LoadRequest,
  leftOutBecause,
  load,
  type Moving,
  refuseRequired,
  reload,
  unchosenBecause,
  unload,
} from './moves.ts'
import { PluginEntries, type PluginRecord } from './plugin-entries.ts'
import type { SecretState } from './plugin-secrets.ts'
import { PluginSet } from './plugin-set.ts'
import { inDependencyOrder, sayLeftAlone, startBundled } from './start.ts'

/** What the registry needs beside what it gives to plugins. */
export interface RegistryOptions extends PluginHost {
  readonly sources: PluginSources
  /** Version of the host's `@steeple/contracts` and the file URL of its entry: see `hostContracts`. */
  readonly contractsVersion: string
  readonly contractsUrl: string
}

/** Loads, upgrades and unloads plugins while the service runs. Requests are done one after the other. */
export class PluginRegistry {
  readonly #parts: Moving
  readonly #loader: ReturnType<typeof createLoader>
  readonly #blame: Blame
  readonly #isSafeMode: boolean
  readonly #turns = createTurns()
  #rest: readonly (() => Promise<void>)[] = []
  #isStopping = false
  #isStopped = false

  /** It knows nothing until `scan` or `loadAll`. */
  constructor(options: RegistryOptions) {
    const { contractsVersion } = options
    const host: PluginHost = options
    const sources = { ...options.sources, policy: () => host.settings.current().plugins }
    const isSafeMode = sources.isSafeMode === true
    const catalogue = new Catalogue(sources, host.log, () => this.#parts.entries.know())
    const loader = createLoader(options.contractsUrl)
    const kept = createKeptStates(sources.pluginsDir, host.log)
    const because = (found: FoundPlugin): string | undefined =>
      leftOutBecause(host.settings.current(), kept, isSafeMode, found)
    const entries = new PluginEntries({ host, catalogue, leftOutBecause: because })
    const set = new PluginSet({ host, entries, kept, loader, contractsVersion })
    const { pluginsDir } = sources
    this.#parts = { host, pluginsDir, catalogue, entries, kept, set, leftOutBecause: because }
    this.#isSafeMode = isSafeMode
    this.#loader = loader
    const installed = (all: readonly FoundPlugin[]): readonly FoundPlugin[] =>
      all.filter(({ origin }) => origin === 'installed')
    this.#blame = createBlame({
      kept,
      clock: host.clock,
      installed: () => installed(catalogue.ids().flatMap((id) => catalogue.versions(id))),
      running: () => installed(entries.live().map(({ found }) => found)),
    })
  }

  /** Every plugin that is known, by name. */
  list(): readonly PluginRecord[] {
    return this.#parts.entries.records()
  }

  /** Looks at the sources again, so that `list` knows what was installed meanwhile. */
  async scan(): Promise<void> {
    await this.#inTurn(() => this.#parts.catalogue.scan())
  }

  /**
   * Loads the plugins of the build that are not disabled, providers first. One that fails is recorded; the rest goes on.
   * An installed plugin never costs one of them: what collides with them waits for `loadInstalled` or fails.
   *
   * Throws the `plugin_failed` of an essential plugin, after all others were tried.
   */
  async loadBundled(): Promise<void> {
    await this.#inTurn(async () => {
      this.#rest = await startBundled(this.#parts, this.#blame)
      if (this.#isSafeMode) sayLeftAlone(this.#parts)
    })
  }

  /**
   * Loads, after `loadBundled`, what was installed, but for versions whose last load failed: those keep their reason
   * until somebody asks for them. Never throws: see `list`.
   */
  async loadInstalled(): Promise<void> {
    const rest = this.#rest
    this.#rest = []
    // A turn each: what somebody asks for meanwhile does not wait for all of them.
    for (const work of rest) {
      try {
        await this.#inTurn(work)
      } catch (error) {
        if (this.#isStopping) return
        this.#parts.host.log.error({ err: error }, 'installed plugin was not loaded')
      }
    }
  }

  /** `loadBundled`, then `loadInstalled`. */
  async loadAll(): Promise<void> {
    await this.loadBundled()
    await this.loadInstalled()
  }

  /**
   * Loads a plugin, or another version of one that runs. The version that runs already: nothing happens.
   *
   * Throws `plugin_not_found`, `plugin_state_conflict` (disabled, a downgrade), `plugin_failed` (which step, why). After
   * a failure the set of plugins is the one before.
   */
  load = async (name: string, request: LoadRequest = {}): Promise<PluginRecord> =>
    await this.#inTurn(() => load(this.#parts, name, request))

  /**
   * Installs a package (`.tgz`) and loads it; what is refused leaves nothing behind. Throws as `load`, and
   * `plugin_state_conflict` where nothing can be installed.
   */
  install = async (bytes: Uint8Array): Promise<PluginRecord> =>
    await this.#inTurn(() => installAndLoad(this.#parts, bytes))

  /**
   * Withdraws a plugin until somebody loads it, or the next start does.
   *
   * Throws `plugin_not_found`, `plugin_state_conflict` (not loaded, essential, or required: by whom).
   */
  unload = async (name: string): Promise<PluginRecord> =>
    await this.#inTurn(async () => {
      await unload(this.#parts, name)
      return this.#parts.entries.record(name)
    })

  /** A new copy of the same version, with the configuration as it is now. Throws as `load`. */
  reload = async (name: string): Promise<PluginRecord> => await this.#inTurn(() => reload(this.#parts, name))

  /** Withdraws a plugin for good: no start loads it until `enable`. Throws as `unload`. */
  async disable(name: string): Promise<PluginRecord> {
    return await this.#inTurn(async () => {
      await this.#parts.catalogue.scan()
      const { essential } = this.#parts.entries.record(name)
      if (essential)
        throw pluginStateConflict(
          `plugin ${name} is part of every build and cannot be disabled; choose another one`,
        )
      refuseRequired(this.#parts, name)
      this.#parts.kept.change(name, { isDisabled: true })
      if (this.#parts.entries.of(name).live !== undefined) await unload(this.#parts, name)
      this.#parts.entries.forgetFailure(name)
      return this.#parts.entries.record(name)
    })
  }

  /** Undoes `disable` and loads it, in the version to which it was rolled back. Throws as `load`. */
  async enable(name: string): Promise<PluginRecord> {
    return await this.#inTurn(async () => {
      await this.#parts.catalogue.scan()
      this.#parts.entries.record(name)
      this.#parts.kept.change(name, { isDisabled: undefined })
      return await load(this.#parts, name, keptVersion(this.#parts, name))
    })
  }

  /**
   * Removes the installed folders of a plugin, or of one version, usable or not, and what is kept of them. When the running
   * version is among them, the highest that is left takes its place; when none is, it is unloaded.
   *
   * Throws `plugin_not_found`, `plugin_state_conflict` (nothing of it is installed, or it is required: by whom).
   */
  async uninstall(name: string, version?: string): Promise<PluginRecord> {
    return await this.#inTurn(() => uninstall(this.#parts, name, version))
  }

  /** After a change of the settings: reloads each plugin whose own configuration changed and is not `hot`. */
  async applySettings(): Promise<void> {
    await this.#inTurn(() => applySettings(this.#parts))
  }

  /** The secrets of a plugin, without their values. Throws `plugin_not_found`. */
  async secrets(name: string): Promise<readonly SecretState[]> {
    return await this.#parts.host.secrets.list(this.#sectionOf(name))
  }

  /** Seals the value of a secret key; undefined removes it. Throws `plugin_not_found`, `not_found` (no such key). */
  async writeSecret(tx: Tx, name: string, key: string, value: string | undefined): Promise<void> {
    await this.#parts.host.secrets.write(tx, this.#sectionOf(name), key, value)
  }

  #sectionOf(name: string): Section {
    const { entries, catalogue } = this.#parts
    const found = entries.of(name).live?.found ?? catalogue.versions(name)[0]
    if (found === undefined) throw pluginNotFound(name)
    return found.section
  }

  /** What the service takes of memory, where that is much. */
  memoryHealth(): ReturnType<typeof memoryHealth> {
    return memoryHealth(memoryNow(), this.#parts.entries.loadedThen())
  }

  /** The checksummed tables of every live plugin. */
  tables(): readonly TableSpec[] {
    return this.#parts.entries.live().flatMap(({ plugin }) => plugin.tables ?? [])
  }

  /** Every live plugin with its id, in the order in which they came; of an installed one the name of its folder. */
  plugins(): readonly { readonly id: string; readonly plugin: Plugin; readonly folder?: string }[] {
    return this.#parts.entries.live().map(({ found, plugin }) => ({
      id: found.manifest.id,
      plugin,
      ...(found.origin === 'installed' ? { folder: basename(found.dir) } : {}),
    }))
  }

  /**
   * Before the process ends by an error: which installed plugins it may have come from. The second time in a row the next
   * start goes without that version. Gives their folders. Never throws.
   */
  blame(error: unknown): readonly string[] {
    return this.#blame.onFatal(error)
  }

  /**
   * The first step of an end: what plugins do in the world (a transmitter) ends at once, whatever is going on, and no other
   * change of the plugins begins.
   */
  async quiesce(): Promise<void> {
    this.#isStopping = true
    await this.#parts.set.quiesce()
  }

  /** Withdraws and stops everything. */
  async stop(): Promise<void> {
    const quiet = this.quiesce()
    await this.#turns(async () => undefined)
    if (this.#isStopped) return
    this.#isStopped = true
    await quiet
    await this.#parts.set.stop()
    this.#blame.onProperEnd()
    this.#loader.close()
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return await this.#turns(async () => {
      if (this.#isStopping) throw notReady('the service is stopping')
      return await work()
    })
  }
}

/** See `PluginRegistry.install`. */
async function installAndLoad(parts: Moving, bytes: Uint8Array): Promise<PluginRecord> {
  const { host, pluginsDir, catalogue, entries, kept } = parts
  if (pluginsDir === undefined) throw pluginStateConflict('this service has no folder for plugins')
  const policy = host.settings.current().plugins
  const installed = await installPackage(bytes, pluginsDir, { policy, isUnderSetting: true })
  const { id, version, dir } = installed
  try {
    return await load(parts, id, { version, folder: basename(dir) })
  } catch (error) {
    if (installed.isNew) {
      await installed.takeBack()
      kept.forget(id, [basename(dir)])
      await catalogue.scan()
      if (catalogue.versions(id).length === 0) entries.forgetFailure(id)
    }
    throw error
  }
}

/** After a change of the settings: the choice among drivers, those that waited for it, and each whose own part has changed. */
async function applySettings(parts: Moving): Promise<void> {
  await parts.catalogue.scan()
  await applyChoice(parts)
  await applyWaiting(parts)
  for (const plugin of parts.entries.live()) await applyTo(parts, plugin)
}

/** Of several drivers of a kind, the ones that were chosen before go and those that are chosen now come. */
async function applyChoice(parts: Moving): Promise<void> {
  const settings = parts.host.settings.current()
  const gone = parts.entries.live().filter(({ found }) => unchosenBecause(settings, found) !== undefined)
  const chosen = parts.catalogue.ids().flatMap((id) => {
    const versions = parts.catalogue.versions(id)
    const pinned = versions.find(({ version }) => version === parts.kept.of(id).version)
    const found = pinned ?? versions[0]
    return found?.manifest.selected_by !== undefined && parts.entries.record(id).state === 'found'
      ? [found]
      : []
  })
  for (const { manifest } of chosen)
    parts.entries.of(manifest.id).because = 'the configuration chooses it now'
  await parts.set.apply([
    ...gone.map(({ found }) => ({ id: found.manifest.id })),
    ...inDependencyOrder(chosen).map((found) => ({
      id: found.manifest.id,
      next: { found, tables: 'try' } as const,
    })),
  ])
}

/** Those that wait for a key of theirs come when it has a value. */
async function applyWaiting(parts: Moving): Promise<void> {
  for (const { name } of parts.entries.records().filter(({ state }) => state === 'needs_config'))
    await load(parts, name, {}, 'the configuration has what it waited for').catch((error: unknown) =>
      parts.host.log.error({ plugin: name, err: error }, 'plugin with its new settings could not be loaded'),
    )
}

async function applyTo(parts: Moving, { found, settings }: LivePlugin): Promise<void> {
  const { id, config_path } = found.manifest
  try {
    const changes = parts.host.settings.changes(settings, config_path)
    const keys = changes.filter(({ apply }) => apply === 'reload').map(({ key }) => key)
    if (keys.length > 0) await reload(parts, id, `the configuration has changed: ${keys.join(', ')}`)
  } catch (error) {
    parts.host.log.error({ plugin: id, err: error }, 'changed settings could not be applied')
  }
}

/** Removes folders of the plugins directory, with what is on record of them. */
async function removeFolders(pluginsDir: string, folders: readonly string[]): Promise<void> {
  const record = createContentRecord(pluginsDir)
  for (const folder of folders) {
    await rm(join(pluginsDir, folder), { recursive: true, force: true })
    record.write(folder, undefined)
  }
}

/** See `PluginRegistry.uninstall`. */
async function uninstall(parts: Moving, name: string, version: string | undefined): Promise<PluginRecord> {
  await parts.catalogue.scan()
  const entry = parts.entries.of(name)
  const record = parts.entries.record(name)
  const isMeant = (one: { readonly version: string }): boolean =>
    version === undefined || one.version === version
  const dirs = parts.catalogue.installed(name).filter(isMeant)
  const failed = entry.failed?.found
  const isGone = failed?.origin === 'installed' && isMeant(failed)
  if (dirs.length === 0 && !isGone) {
    throw notInstalled(name, version, entry.live?.found.manifest.essential === true)
  }
  const folders = [...dirs, ...(isGone ? [failed] : [])].map(({ dir }) => basename(dir))
  refuseChosen(parts, name, new Set(dirs.map(({ dir }) => dir)))
  const { live } = entry
  if (live?.found.origin === 'installed' && folders.includes(basename(live.found.dir))) {
    const left = parts.catalogue
      .versions(name)
      .find((one) => !folders.includes(basename(one.dir)) && parts.leftOutBecause(one) === undefined)
    if (left === undefined) await unload(parts, name)
    else await bring(parts, { found: left, tables: 'try' }, 'a version above it was uninstalled')
  }
  if (parts.pluginsDir !== undefined) await removeFolders(parts.pluginsDir, folders)
  parts.kept.forget(name, folders)
  if (isGone || entry.failed === undefined) parts.entries.forgetFailure(name)
  await parts.catalogue.scan()
  parts.host.log.info({ plugin: name, folders }, 'plugin uninstalled')
  if (parts.catalogue.knows(name)) return parts.entries.record(name)
  parts.kept.change(name, { isDisabled: undefined, version: undefined })
  await parts.host.events.forget(name)
  await parts.host.db.transact((tx) => parts.host.secrets.forget(tx, name))
  return { ...record, state: 'unloaded', health: 'unknown', error: undefined, versions: [] }
}

/** Throws `plugin_state_conflict`, before anything has gone, when no start would take the configuration without the plugin. */
function refuseChosen({ entries }: Moving, name: string, dirs: ReadonlySet<string>): void {
  try {
    entries.judgeWithout(dirs)
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'config_invalid') throw error
    throw pluginStateConflict(
      `plugin ${name} is needed by the configuration: without it, ${error.message}; correct that, send SIGHUP, and uninstall it then`,
      { cause: error },
    )
  }
}

function notInstalled(name: string, version: string | undefined, isEssential: boolean): Error {
  const what = version === undefined ? `plugin ${name} is` : `version ${version} of plugin ${name} is`
  const hint = isEssential ? 'it is part of every build' : 'what is part of the build can be disabled'
  return pluginStateConflict(`${what} not installed; ${hint}`)
}

/** Where the files of a service are that does not run: both absolute. */
interface OfflinePlace {
  readonly dataDir: string
  readonly pluginsDir: string
}

/**
 * Removes a plugin's folders, or those of one version, and what is kept of them. Gives the folders. Throws
 * `plugin_not_found` when there is none, `data_dir_in_use` while the service runs.
 */
export async function uninstallOffline(
  place: OfflinePlace,
  id: string,
  version: string | undefined,
): Promise<readonly string[]> {
  return await locked(place, async ({ pluginsDir }) => {
    const names = await readdir(pluginsDir).catch(() => [])
    const folders = names.filter((name) => {
      const installed = installedName(name)
      return installed?.id === id && (version ?? installed.version) === installed.version
    })
    if (folders.length === 0) throw pluginNotFound(version === undefined ? id : `${id}@${version}`)
    await removeFolders(pluginsDir, folders)
    createKeptStates(pluginsDir, undefined).forget(id, folders)
    return folders.map((folder) => join(pluginsDir, folder))
  })
}

/** Switches a plugin on or off for the next start. Throws `data_dir_in_use` while the service runs. */
export async function disableOffline(place: OfflinePlace, id: string, isDisabled: boolean): Promise<void> {
  await locked(place, async ({ pluginsDir }) => {
    createKeptStates(pluginsDir, undefined).change(id, { isDisabled })
  })
}

async function locked<T>(place: OfflinePlace, work: (place: OfflinePlace) => Promise<T>): Promise<T> {
  const lock = lockDataDir(place.dataDir)
  try {
    return await work(place)
  } finally {
    lock.release()
  }
}
