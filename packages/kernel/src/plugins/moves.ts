import { basename } from 'node:path'
import { isServiceError, type Plugin, pluginStateConflict, storeInvalid } from '@steeple/contracts'
import { claimedTwice } from '@steeple/settings'
import semver from 'semver'
import { within } from '../clock/deadline.ts'
import type { Catalogue } from '../plugin-packages/catalogue.ts'
import { asFailure, inStep, isWaitingForConfig } from '../plugin-packages/failure.ts'
import type { KeptStates } from '../plugin-packages/kept-states.ts'
import type { createLoader } from '../plugin-packages/loader.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import { dependentsOf, problemOf, unchosenBecause } from './checks.ts'
import type { PluginHost } from './host.ts'
import { type LivePlugin, STEP_BOUND_MS, setUp } from './live.ts'
import type { PluginEntries, PluginEntry, PluginRecord } from './plugin-entries.ts'
import type { PluginSet } from './plugin-set.ts'

/** What every move of a plugin works with. */
export interface Moving {
  readonly host: PluginHost
  readonly pluginsDir: string | undefined
  readonly catalogue: Catalogue
  readonly entries: PluginEntries
  readonly kept: KeptStates
  readonly set: PluginSet
  /** Why a version is not to be loaded; undefined when nothing speaks against it. */
  readonly leftOutBecause: (found: FoundPlugin) => string | undefined
}

/** How a load is asked for. */
export interface LoadRequest {
  /** Exactly this version; the highest that is found when absent. */
  readonly version?: string
  /** Allows a version below the running one (the one that ran before it, when none is named). */
  readonly rollback?: boolean
  /** The folder in the plugins directory that the version must come from, by its name. */
  readonly folder?: string
}

/** Has exactly this version run, for a reason that its record shows. Throws what keeps it from that; then the set is as before. */
export async function bring(parts: Moving, next: Wanted, because: string): Promise<PluginRecord> {
  const { id } = next.found.manifest
  parts.entries.of(id).because = because
  const failure = (await parts.set.apply([{ id, next }])).get(id)
  if (failure !== undefined) throw failure
  parts.host.log.info({ plugin: id, version: next.found.version }, 'plugin loaded')
  return parts.entries.record(id)
}

/** See `PluginRegistry.load`. */
export async function load(
  parts: Moving,
  name: string,
  request: LoadRequest,
  because = 'it was loaded by request',
): Promise<PluginRecord> {
  const { version, rollback = false, folder } = request
  await parts.catalogue.scan()
  const { live, before } = parts.entries.of(name)
  const running = live?.found
  const found = parts.catalogue.choose(name, { version, rollback, running, before })
  const leftOut = parts.leftOutBecause(found)
  // One that another is chosen before is there now, so that the configuration can name it.
  const isUnchosen = unchosenBecause(parts.host.settings.current(), found) === leftOut
  if (leftOut !== undefined && !isUnchosen)
    throw pluginStateConflict(`plugin ${name} is left out: ${leftOut}`)
  if (folder !== undefined && basename(found.dir) !== folder)
    throw pluginStateConflict(
      `version ${found.version} of plugin ${name} lies in the folder ${basename(found.dir)} already; give the other one a higher version`,
    )
  if (leftOut !== undefined) return parts.entries.record(name)
  if (running?.version === found.version) {
    // Who asks for that very version has made up his mind about another one that failed.
    if (version !== undefined) parts.entries.forgetFailure(name)
    return parts.entries.record(name)
  }
  return await exchange(parts, running, found, because)
}

/** The version to which a plugin was rolled back, as long as it is there. */
export function keptVersion({ catalogue, kept }: Moving, name: string): LoadRequest {
  const { version } = kept.of(name)
  const isThere = catalogue.versions(name).some((found) => found.version === version)
  return version === undefined || !isThere ? {} : { version }
}

/** Has `found` run in the place of what runs, and the next start do the same. */
async function exchange(
  parts: Moving,
  running: FoundPlugin | undefined,
  found: FoundPlugin,
  because: string,
): Promise<PluginRecord> {
  const { id } = found.manifest
  const why = running === undefined ? because : `it took the place of version ${running.version}`
  const isRollback =
    running === undefined
      ? parts.kept.of(id).version === found.version
      : semver.lt(found.version, running.version)
  try {
    await bring(parts, { found, tables: isRollback ? 'keep' : 'migrate' }, why)
  } catch (error) {
    if (running === undefined && isWaitingForConfig(error)) return parts.entries.record(id)
    // What has failed now must not be tried by itself at the next start.
    if (running !== undefined) parts.kept.change(id, { version: running.version })
    throw error
  }
  parts.kept.change(id, { version: isRollback ? found.version : undefined })
  parts.entries.forgetFailure(id)
  return parts.entries.record(id)
}

/** See `PluginRegistry.reload`. */
export async function reload(
  parts: Moving,
  name: string,
  because = 'it was reloaded by request',
): Promise<PluginRecord> {
  await parts.catalogue.scan()
  const entry = parts.entries.of(name)
  if (entry.live === undefined) return await load(parts, name, {}, because)
  const found = parts.catalogue.sameAs(entry.live.found)
  await bring(parts, { found, tables: tablesOf(entry, found) }, because)
  parts.entries.forgetFailure(name)
  return parts.entries.record(name)
}

/** See `PluginRegistry.unload`. */
export async function unload(parts: Moving, name: string): Promise<void> {
  const { live, isLoading } = parts.entries.of(name)
  if (live === undefined) {
    const { state } = parts.entries.record(name)
    const hint = state === 'failed' || state === 'rejected' ? `; svc plugin uninstall ${name} removes it` : ''
    throw pluginStateConflict(`plugin ${name} is not loaded${isLoading ? ' yet' : hint}`)
  }
  if (live.found.manifest.essential === true)
    throw pluginStateConflict(
      `plugin ${name} is part of every build and cannot be unloaded; choose another one`,
    )
  refuseRequired(parts, name)
  await parts.set.apply([{ id: name }])
  parts.entries.of(name).wasUnloaded = true
  parts.entries.forgetFailure(name)
  parts.host.log.info({ plugin: name, version: live.found.version }, 'plugin unloaded')
}

/** Throws `plugin_state_conflict` while others require what it provides. */
export function refuseRequired(parts: Moving, name: string): void {
  const dependents = dependentsOf(name, parts.entries.live())
  if (dependents.length === 0) return
  const who = dependents.map((one) => `${one.plugin} (${one.service})`).join(', ')
  throw pluginStateConflict(`plugin ${name} is required by ${who}; unload that first`)
}

/**
 * What happens to a plugin's tables before its setup. `keep`: they are those of a later version (steps are additive);
 * its own learn what that one's rows look like. `try`: they may be.
 */
type TableStep = 'migrate' | 'keep' | 'try'

/** A version that is to run, and what happens to its tables. */
export interface Wanted {
  readonly found: FoundPlugin
  readonly tables: TableStep
}

interface ProvisionParts {
  readonly host: PluginHost
  readonly entries: PluginEntries
  readonly loader: Pick<ReturnType<typeof createLoader>, 'load'>
  /** Version of the host's `@steeple/contracts`. */
  readonly contractsVersion: string
}

/** Sets up a copy of which everything else is ready. Throws `plugin_failed` (setup); then nothing is left of the copy. */
type SetUp = () => Promise<LivePlugin>

/** The steps from the check to the setup. Each throws `plugin_failed`; then nothing is left of the copy. */
export type Provision = (wanted: Wanted) => Promise<SetUp>

export function createProvision({ host, entries, loader, contractsVersion }: ProvisionParts): Provision {
  const check = (found: FoundPlugin): void => {
    const { id } = found.manifest
    const others = entries.live().map((plugin) => plugin.found.section)
    const problem =
      claimedTwice(found.section, others) ??
      problemOf(found, {
        contractsVersion,
        providerOf: (service) => {
          const owner = host.services.ownerOf(service)
          return owner === id ? undefined : owner
        },
        running: entries.of(id).live?.found,
        dependents: dependentsOf(id, entries.live()),
      })
    if (problem !== undefined) throw asFailure(id, 'check', new TypeError(problem))
  }

  const migrate = async ({ found, tables }: Wanted, plugin: Plugin): Promise<void> => {
    const { id } = found.manifest
    const entry = entries.of(id)
    if (tables === 'keep') {
      entry.behind = found.version
      await host.db.fallBack(id, plugin.tables ?? [])
      return
    }
    entry.migrated = found.version
    try {
      await host.db.migrate(id, plugin.migrations ?? [], plugin.tables)
    } catch (error) {
      if (tables === 'migrate' || !isServiceError(error) || error.code !== storeInvalid.code) throw error
      entry.behind = found.version
      const facts = { plugin: id, version: found.version, err: error }
      host.log.warn(facts, 'plugin runs on the tables as they are')
    }
  }

  return async (wanted) => {
    const { found } = wanted
    const { id } = found.manifest
    check(found)
    const plugin = await inStep(id, 'import', () =>
      within(host.timers, STEP_BOUND_MS, 'its import', () => loader.load(found)),
    )
    entries.know(found)
    const config = await inStep(id, 'config', async () => host.settings.configFor(found.section))
    await inStep(id, 'migrate', () => migrate(wanted, plugin))
    return () => inStep(id, 'setup', () => setUp(host, found, plugin, config))
  }
}

/** How the running version is brought up again: on tables that may be those of a later one. */
function tablesOf({ behind, migrated }: PluginEntry, { version }: FoundPlugin): TableStep {
  return behind === version || semver.gt(migrated ?? version, version) ? 'keep' : 'migrate'
}
