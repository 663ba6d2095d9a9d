import { basename } from 'node:path'
import { pluginStateConflict, type Settings } from '@steeple/contracts'
import semver from 'semver'
import type { Catalogue } from '../plugin-packages/catalogue.ts'
import { isWaitingForConfig } from '../plugin-packages/failure.ts'
import type { KeptStates } from '../plugin-packages/kept-states.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { PluginHost } from './host.ts'
import type { LivePlugin } from './live.ts'
import type { PluginEntries, PluginEntry, PluginRecord } from './plugin-entries.ts'
import type { PluginSet, Wanted } from './plugin-set.ts'
import type { ServiceContainer } from './service-container.ts'

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

/** How the running version is brought up again: on tables that may be those of a later one. */
function tablesOf({ behind, migrated }: PluginEntry, { version }: FoundPlugin): Wanted['tables'] {
  return behind === version || semver.gt(migrated ?? version, version) ? 'keep' : 'migrate'
}

/** Somebody who cannot do without a service. */
interface Dependent {
  readonly plugin: string
  readonly service: string
}

/** The live plugins that require, or have asked for, what `id` provides. */
export function dependentsOf(
  id: string,
  live: readonly {
    readonly found: FoundPlugin
    readonly services: ReadonlyMap<string, object>
    readonly used: ReadonlySet<string>
  }[],
): readonly Dependent[] {
  const provided = live.find((plugin) => plugin.found.manifest.id === id)?.services
  if (provided === undefined) return []
  return live
    .filter((plugin) => plugin.found.manifest.id !== id)
    .flatMap(({ found, used }) =>
      [...new Set([...(found.manifest.requires ?? []), ...used])]
        .filter((service) => provided.has(service))
        .map((service) => ({ plugin: found.manifest.id, service })),
    )
}

/** What the checks compare a plugin with. */
interface Surroundings {
  /** Version of the host's `@steeple/contracts`. */
  readonly contractsVersion: string
  /** Who provides a service once this plugin is set up, other than itself: the kernel, a live or a co-loading one. */
  providerOf(service: string): string | undefined
  /** The copy of the same plugin that runs now. */
  readonly running: FoundPlugin | undefined
  /** Who requires what the running copy provides. */
  readonly dependents: readonly Dependent[]
}

/** Everything that can be said against a plugin before its code runs; undefined when there is nothing. */
export function problemOf(found: FoundPlugin, around: Surroundings): string | undefined {
  return (
    contractsProblem(found, around.contractsVersion) ??
    identityProblem(found, around.running) ??
    requiresProblem(found, around) ??
    providesProblem(found, around) ??
    droppedProblem(found, around.dependents)
  )
}

/** Why it was built for other contracts than these; undefined when it was not. */
export function contractsProblem(found: FoundPlugin, version: string): string | undefined {
  const range = found.manifest.contracts
  if (semver.satisfies(version, range, { includePrerelease: true })) return undefined
  return `it was built for contracts ${range}, this service has ${version}; build it again for that`
}

function identityProblem(found: FoundPlugin, running: FoundPlugin | undefined): string | undefined {
  if (running === undefined) return undefined
  if (running.packageName !== found.packageName) {
    return `its id belongs to ${running.packageName}, this is ${found.packageName}`
  }
  if (running.manifest.kind !== found.manifest.kind) {
    return `its kind ${found.manifest.kind} is not that of the running one, ${running.manifest.kind}`
  }
  return undefined
}

function requiresProblem(found: FoundPlugin, around: Surroundings): string | undefined {
  const own = new Set(found.manifest.provides)
  const missing = (found.manifest.requires ?? []).filter(
    (service) => own.has(service) || around.providerOf(service) === undefined,
  )
  return missing.length === 0 ? undefined : `nobody provides ${missing.join(', ')}`
}

function providesProblem(found: FoundPlugin, around: Surroundings): string | undefined {
  for (const service of found.manifest.provides ?? []) {
    const other = around.providerOf(service)
    if (other !== undefined)
      return `it provides ${service}, which ${other} provides already; svc plugin disable ${other} makes way for it`
  }
  return undefined
}

function droppedProblem(found: FoundPlugin, dependents: readonly Dependent[]): string | undefined {
  const dropped = dependents.find(({ service }) => found.manifest.provides?.includes(service) !== true)
  return dropped === undefined
    ? undefined
    : `it no longer provides ${dropped.service}, which ${dropped.plugin} requires`
}

/** Throws when a provider of something that it requires has failed after it was set up. */
export function refuseOrphan(services: ServiceContainer, { found }: LivePlugin): void {
  const missing = found.manifest.requires?.find((service) => services.ownerOf(service) === undefined)
  if (missing !== undefined) throw new TypeError(`nobody provides ${missing} any more`)
}

/**
 * Why a version of a plugin is left out; undefined when it is not. What is part of every build stays: without it the service
 * would not be one.
 */
export function leftOutBecause(
  settings: Settings,
  kept: KeptStates,
  isSafeMode: boolean,
  found: FoundPlugin,
): string | undefined {
  const { essential, id, machine } = found.manifest
  if (isSafeMode && found.origin === 'installed') return 'the service runs in safe mode'
  if (essential === true) return undefined
  if (kept.of(id).isDisabled === true) return `somebody disabled it; svc plugin enable ${id} brings it back`
  if (settings.plugins.disabled.includes(id)) return 'it is in plugins.disabled of the configuration'
  const { cluster } = settings
  if (machine === true && cluster.instance !== cluster.machine)
    return `it belongs to the machine of the instance ${cluster.machine || '(none: set cluster.machine)'}`
  return unchosenBecause(settings, found)
}

/** Why the choice of its kind fell on another plugin; undefined when it did not, or when there is no choice. */
export function unchosenBecause(settings: object, { manifest }: FoundPlugin): string | undefined {
  const { selected_by: by } = manifest
  if (by === undefined) return undefined
  const value = by.key.split('.').reduce<unknown>(propertyOf, settings)
  if (typeof value === 'string' && by.values.includes(value)) return undefined
  // A manifest can name any key, and this is shown to whoever may list plugins: a URL may hold a password.
  const isName = typeof value === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(value)
  return `it needs ${by.key} to be ${by.values.join(' or ')}, which is ${isName ? value : 'no name of a driver'}`
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
