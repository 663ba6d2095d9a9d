import { notReady, pluginNotFound, pluginStateConflict, type TableSpec } from '@steeple/contracts'
import semver from 'semver'
import { within } from '../deadline.ts'
import { createCatalogue } from './catalogue.ts'
import { dependentsOf, problemOf } from './checks.ts'
import { createCodeLoader } from './code-loader.ts'
import { asFailure, inStep } from './failure.ts'
import type { PluginHost } from './host.ts'
import { leftOutBecause, unchosenBecause } from './left-out.ts'
import { configSchemaOf, type LivePlugin, STEP_BOUND_MS, setUp } from './live.ts'
import { createLiveSet } from './live-set.ts'
import type { FoundPlugin } from './manifest.ts'
import { inDependencyOrder } from './order.ts'
import { createPins } from './pins.ts'
import { createRecords, type PluginRecord } from './records.ts'
import { changeOf } from './settings-change.ts'
import type { PluginSources } from './sources.ts'

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
   * Loads everything that is found and not disabled, providers first. One that fails is recorded; the rest goes on.
   * Throws the `plugin_failed` of an essential plugin, after all others were tried.
   */
  loadAll(): Promise<void>
  /**
   * Loads a plugin, or another version of one that runs. The version that runs already: nothing happens.
   *
   * Throws `plugin_not_found`, `plugin_state_conflict` (disabled, a downgrade), `plugin_failed` (which step, why). After
   * a failure the set of plugins is the one before.
   */
  load(name: string, request?: LoadRequest): Promise<PluginRecord>
  /** Throws `plugin_not_found`, `plugin_state_conflict` (not loaded, essential, or required: by whom). */
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
  /** Highest version of each plugin whose migrations were begun: those below run on its tables. */
  const migrated = new Map<string, string>()
  /** Copies that were brought up without migrations: `<id>@<version>`. */
  const behind = new Set<string>()
  let queue: Promise<unknown> = Promise.resolve()
  let isStopped = false

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = queue.then(async () => {
      if (isStopped) throw notReady('the service is stopping')
      return await work()
    })
    queue = turn.catch(() => undefined)
    return turn
  }

  const check = (found: FoundPlugin): void => {
    const running = live.get(found.manifest.id)
    const problem = problemOf(found, {
      contractsVersion: options.contractsVersion,
      providerOf: (service) => {
        const owner = host.services.ownerOf(service)
        return owner === found.manifest.id ? undefined : owner
      },
      running: running?.found,
      dependents: dependentsOf(found.manifest.id, live.all()),
    })
    if (problem !== undefined) throw asFailure(found.manifest.id, 'check', new TypeError(problem))
  }

  /** Everything up to the point where `setUp` can be called. */
  const prepare = async (found: FoundPlugin, isRollback: boolean): Promise<() => Promise<LivePlugin>> => {
    const { id, config_path } = found.manifest
    check(found)
    const loaded = await inStep(id, 'import', () =>
      within(host.timers, STEP_BOUND_MS, 'its import', () => code.load(found)),
    )
    try {
      const schema = configSchemaOf(loaded)
      const config = await inStep(id, 'config', async () => host.settings.configFor(config_path, schema))
      // Migrations are additive: the version before runs on what a later one has added.
      if (isRollback) behind.add(`${id}@${found.version}`)
      else migrated.set(id, found.version)
      if (!isRollback) await inStep(id, 'migrate', () => host.db.migrate(id, loaded.plugin.migrations ?? []))
      return () => inStep(id, 'setup', () => setUp(host, found, loaded, config))
    } catch (error) {
      await loaded.dispose()
      throw error
    }
  }

  const bringUp = async (found: FoundPlugin, isRollback: boolean): Promise<void> => {
    const { id } = found.manifest
    const running = live.get(id)
    const makeNext = await prepare(found, isRollback)
    if (running === undefined || !isExclusive(running.found, found)) {
      await live.enter(await makeNext())
      return
    }
    await live.stepAside(id)
    try {
      await live.enter(await makeNext())
    } catch (error) {
      await restore(running, error)
      throw error
    }
  }

  /** The copy that had to leave for one that then failed is set up and started again. */
  const restore = async (before: LivePlugin, why: unknown): Promise<void> => {
    const { id } = before.found.manifest
    try {
      await live.enter(await setUp(host, before.found, before.code, before.config))
    } catch (error) {
      await live.remove(id)
      host.log.error({ plugin: id, err: error }, 'plugin could not be restored')
      throw asFailure(id, 'start', new AggregateError([why, error], 'it failed, and so did the copy before'))
    }
  }

  const change = async (found: FoundPlugin, isRollback: boolean): Promise<PluginRecord> => {
    const { id } = found.manifest
    records.loading(found)
    try {
      await bringUp(found, isRollback)
    } catch (error) {
      records.failed(found, error)
      throw error
    }
    records.running(found)
    host.log.info({ plugin: id, version: found.version }, 'plugin loaded')
    return records.of(id)
  }

  const load = async (name: string, { version, rollback = false }: LoadRequest): Promise<PluginRecord> => {
    await catalogue.scan()
    const running = live.get(name)?.found
    const found = catalogue.choose(name, { version, rollback, running, before: records.before(name) })
    const leftOut = leftOutBecause(host, found)
    if (leftOut !== undefined) throw pluginStateConflict(`plugin ${name} is left out: ${leftOut}`)
    if (running?.version === found.version) return records.of(name)
    const isRollback = running !== undefined && semver.lt(found.version, running.version)
    const record = await change(found, isRollback).catch(async (error: unknown) => {
      // What has failed now must not be tried by itself at the next start.
      if (running !== undefined) await pins.write(name, running.version)
      throw error
    })
    await pins.write(name, isRollback ? found.version : undefined)
    return record
  }

  const loadAll = async (): Promise<void> => {
    await catalogue.scan()
    const pinned = await pins.read()
    const chosen = catalogue
      .highest(pinned)
      .filter(
        (found) => live.get(found.manifest.id) === undefined && leftOutBecause(host, found) === undefined,
      )
    const ready: LivePlugin[] = []
    const failures = new Map<string, unknown>()
    for (const found of inDependencyOrder(chosen)) {
      const { id } = found.manifest
      records.loading(found)
      try {
        const next = await (await prepare(found, pinned.get(id) === found.version))()
        host.services.set(id, next.services)
        ready.push(next)
      } catch (error) {
        failures.set(id, error)
      }
    }
    for (const [id, error] of await live.enterAll(ready)) failures.set(id, error)
    host.reconciler.begin()
    for (const found of chosen) {
      const failure = failures.get(found.manifest.id)
      if (failure === undefined) records.running(found)
      else records.failed(found, failure)
    }
    host.log.info({ loaded: chosen.length - failures.size, failed: failures.size }, 'plugins loaded')
    const fatal = chosen.find(({ manifest }) => manifest.essential === true && failures.has(manifest.id))
    if (fatal !== undefined) throw asFailure(fatal.manifest.id, 'start', failures.get(fatal.manifest.id))
  }

  const unload = async (name: string): Promise<PluginRecord> => {
    const running = live.get(name)
    if (running === undefined) {
      if (!catalogue.knows(name)) throw pluginNotFound(name)
      throw pluginStateConflict(`plugin ${name} is not loaded`)
    }
    if (running.found.manifest.essential === true) {
      throw pluginStateConflict(`plugin ${name} is part of every build and cannot be unloaded`)
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
    // A version that was rolled back to, or that a failed one did not replace, runs on the tables of a later one.
    const isOnLaterTables =
      behind.has(`${name}@${running.version}`) ||
      semver.gt(migrated.get(name) ?? running.version, running.version)
    return await change(catalogue.sameAs(running), isOnLaterTables)
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
    for (const found of inDependencyOrder(chosen)) await change(found, false)
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
    loadAll: () => inTurn(loadAll),
    load: (name, request = {}) => inTurn(() => load(name, request)),
    unload: (name) => inTurn(() => unload(name)),
    reload: (name) => inTurn(() => reload(name)),
    applySettings: () => inTurn(applySettings),
    tables: () => live.all().flatMap(({ code: { plugin } }) => plugin.tables ?? []),
    stop: async () => {
      await queue
      if (isStopped) return
      isStopped = true
      await live.leaveAll()
      code.close()
    },
  }
}

function isExclusive(running: FoundPlugin, next: FoundPlugin): boolean {
  return running.manifest.handover === 'exclusive' || next.manifest.handover === 'exclusive'
}
