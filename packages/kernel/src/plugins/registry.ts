import { createTurns, notReady, pluginStateConflict, type TableSpec } from '@steeple/contracts'
import semver from 'semver'
import { createBringUp } from './bring-up.ts'
import { createCatalogue } from './catalogue.ts'
import { dependentsOf } from './checks.ts'
import { createCodeLoader } from './code-loader.ts'
import { reasonOf } from './failure.ts'
import type { PluginHost } from './host.ts'
import { leftOutBecause, unchosenBecause } from './left-out.ts'
import { configSchemaOf, type LivePlugin } from './live.ts'
import { createLiveSet } from './live-set.ts'
import { inDependencyOrder } from './order.ts'
import { createPins } from './pins.ts'
import { createRecords, type PluginRecord } from './records.ts'
import { changeOf } from './settings-change.ts'
import type { PluginSources } from './sources.ts'
import { createStartUp } from './start-up.ts'
import { takeOut } from './take-out.ts'
import { createTrials } from './trials.ts'

/** What the registry needs beside what it gives to plugins. */
export interface RegistryOptions extends PluginHost {
  readonly sources: PluginSources
  /** Version of the host's `@steeple/contracts` and the file URL of its entry: see `hostContracts`. */
  readonly contractsVersion: string
  readonly contractsUrl: string
  /** The entry of the child processes; found beside the kernel when absent. */
  readonly childEntry?: URL
}

/** How a load is asked for. */
export interface LoadRequest {
  /** Exactly this version; the highest that is found when absent. */
  readonly version?: string
  /** Allows a version below the running one (the one that ran before it, when none is named). */
  readonly rollback?: boolean
}

/** Loads, upgrades and unloads plugins while the service runs. Requests are done one after the other. */
export interface PluginRegistry {
  /** Every plugin that is known, by name. */
  list(): readonly PluginRecord[]
  /** Looks at the sources again, so that `list` knows what was installed meanwhile. */
  scan(): Promise<void>
  /**
   * Loads the plugins of the build that are not disabled, providers first. One that fails is recorded; the rest goes on.
   * An installed plugin never costs one of them: what collides with them waits for `loadInstalled` or fails.
   *
   * Throws the `plugin_failed` of an essential plugin, after all others were tried.
   */
  loadBundled(): Promise<void>
  /**
   * Loads, after `loadBundled`, what was installed, but for versions whose last load failed: those keep their reason
   * until somebody asks for them. Never throws: see `list`.
   */
  loadInstalled(): Promise<void>
  /** `loadBundled`, then `loadInstalled`. */
  loadAll(): Promise<void>
  /**
   * Loads a plugin, or another version of one that runs. The version that runs already: nothing happens.
   *
   * Throws `plugin_not_found`, `plugin_state_conflict` (disabled, a downgrade), `plugin_failed` (which step, why). After
   * a failure the set of plugins is the one before.
   */
  load(name: string, request?: LoadRequest): Promise<PluginRecord>
  /**
   * Withdraws a plugin. One that does not run because it failed is taken out: its failed and unusable folders are
   * removed; of an essential one those that are not in use are.
   *
   * Throws `plugin_not_found`, `plugin_state_conflict` (not loaded, essential, or required: by whom).
   */
  unload(name: string): Promise<PluginRecord>
  /** A new copy of the same version, with the configuration as it is now. Throws as `load`. */
  reload(name: string): Promise<PluginRecord>
  /** After a change of the settings: reloads each plugin whose own configuration changed and is not `hot`. */
  applySettings(): Promise<void>
  /** The checksummed tables of every live plugin. */
  tables(): readonly TableSpec[]
  /** Withdraws and stops everything. */
  stop(): Promise<void>
}

/** Makes a registry that knows nothing until `scan` or `loadAll`. */
export function createRegistry(options: RegistryOptions): PluginRegistry {
  const host: PluginHost = options
  const live = createLiveSet(host)
  const catalogue = createCatalogue(options.sources, host.log)
  const code = createCodeLoader(options)
  const records = createRecords(host, catalogue, live)
  const pins = createPins(options.sources.pluginsDir)
  const trials = createTrials(options.sources.pluginsDir, host.log)
  const bringUp = createBringUp({ host, live, records, code, contractsVersion: options.contractsVersion })
  const startUp = createStartUp({ host, catalogue, live, records, pins, trials, bringUp })
  const turns = createTurns()
  let isStopped = false

  const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
    turns(async () => {
      if (isStopped) throw notReady('the service is stopping')
      return await work()
    })

  const load = async (name: string, { version, rollback = false }: LoadRequest): Promise<PluginRecord> => {
    await catalogue.scan()
    const running = live.get(name)?.found
    const found = catalogue.choose(name, { version, rollback, running, before: records.before(name) })
    const leftOut = leftOutBecause(host, found)
    if (leftOut !== undefined) throw pluginStateConflict(`plugin ${name} is left out: ${leftOut}`)
    if (running?.version === found.version) return records.of(name)
    const isRollback = running !== undefined && semver.lt(found.version, running.version)
    await trials.begun(found)
    const record = await bringUp
      .change(found, isRollback ? 'keep' : 'migrate')
      .catch(async (error: unknown) => {
        await trials.failed(found, reasonOf(error))
        // What has failed now must not be tried by itself at the next start.
        if (running !== undefined) await pins.write(name, running.version)
        throw error
      })
    await trials.ran(found)
    await pins.write(name, isRollback ? found.version : undefined)
    return record
  }

  const loadInstalled = async (): Promise<void> => {
    // A turn each: what somebody asks for meanwhile does not wait for all of them.
    for (const work of startUp.rest()) {
      try {
        await inTurn(work)
      } catch (error) {
        if (isStopped) return
        host.log.error({ err: error }, 'installed plugin was not loaded')
      }
    }
  }

  const unload = async (name: string): Promise<PluginRecord> => {
    const running = live.get(name)
    if (running === undefined || running.found.manifest.essential === true) {
      const left = await takeOut(name, { catalogue, live, records, trials })
      if (left === undefined) throw pluginStateConflict(`plugin ${name} ${whyKept(running)}`)
      host.log.info({ plugin: name }, 'failed plugin taken out')
      return left
    }
    const dependents = dependentsOf(name, live.all())
    if (dependents.length > 0) {
      const who = dependents.map((one) => `${one.plugin} (${one.service})`).join(', ')
      throw pluginStateConflict(`plugin ${name} is required by ${who}; unload that first`)
    }
    await live.leave(name, 'unload')
    records.unloaded(running.found)
    host.log.info({ plugin: name, version: running.found.version }, 'plugin unloaded')
    return records.of(name)
  }

  const reload = async (name: string): Promise<PluginRecord> => {
    await catalogue.scan()
    const running = live.get(name)?.found
    if (running === undefined) return await load(name, {})
    const tables = bringUp.isOnLaterTables(running) ? 'keep' : 'migrate'
    return await bringUp.change(catalogue.sameAs(running), tables)
  }

  /** Of several drivers of a kind, the ones that were chosen before go and those that are chosen now come. */
  const applyChoice = async (): Promise<void> => {
    const running = live.all().map((plugin) => plugin.found)
    for (const found of running.filter((one) => unchosenBecause(host, one) !== undefined)) {
      await unload(found.manifest.id)
      records.leftOut(found)
    }
    const chosen = catalogue
      .highest(await pins.read())
      .filter(
        ({ manifest }) => manifest.selected_by !== undefined && records.of(manifest.id).state === 'found',
      )
    for (const found of inDependencyOrder(chosen)) await bringUp.change(found, 'migrate')
  }

  const applySettings = async (): Promise<void> => {
    await applyChoice().catch((error: unknown) =>
      host.log.error({ err: error }, 'changed choice of plugins could not be applied'),
    )
    for (const plugin of live.all()) {
      const { id, config_path } = plugin.found.manifest
      try {
        const schema = configSchemaOf(plugin.code)
        const next = host.settings.configFor(config_path, schema)
        const { reload: isReload, restart } = changeOf(config_path, schema, plugin.config, next)
        if (restart.length > 0) host.log.warn({ plugin: id, keys: restart }, 'changed keys need a restart')
        if (isReload) await reload(id)
      } catch (error) {
        host.log.error({ plugin: id, err: error }, 'changed settings could not be applied')
      }
    }
  }

  return {
    list: () => records.list(),
    scan: () => inTurn(() => catalogue.scan()),
    loadBundled: () => inTurn(startUp.bundled),
    loadInstalled,
    loadAll: async () => {
      await inTurn(startUp.bundled)
      await loadInstalled()
    },
    load: (name, request = {}) => inTurn(() => load(name, request)),
    unload: (name) => inTurn(() => unload(name)),
    reload: (name) => inTurn(() => reload(name)),
    applySettings: () => inTurn(applySettings),
    tables: () => live.all().flatMap(({ code: { plugin } }) => plugin.tables ?? []),
    stop: async () => {
      await turns(async () => undefined)
      if (isStopped) return
      isStopped = true
      await live.leaveAll()
      code.close()
    },
  }
}

function whyKept(running: LivePlugin | undefined): string {
  return running === undefined ? 'is not loaded' : 'is part of every build and cannot be unloaded'
}
