import { basename } from 'node:path'
import { pluginStateConflict } from '@steeple/contracts'
import semver from 'semver'
import type { Catalogue } from '../plugin-packages/catalogue.ts'
import { isWaitingForConfig } from '../plugin-packages/failure.ts'
import type { KeptStates } from '../plugin-packages/kept-states.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import { dependentsOf, unchosenBecause } from './checks.ts'
import type { PluginHost } from './host.ts'
import type { PluginEntries, PluginRecord } from './plugin-entries.ts'
import type { PluginSet } from './plugin-set.ts'
import { tablesOf, type Wanted } from './provision.ts'

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
    throw pluginStateConflict(`plugin ${name} is part of every build and cannot be unloaded`)
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
