import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isServiceError, pluginNotFound, pluginStateConflict } from '@steeple/contracts'
import { lockDataDir } from '../composition/data-dir-lock.ts'
import { createKeptStates } from '../plugin-packages/kept-states.ts'
import { createContentRecord } from '../plugin-packages/signature.ts'
import { installedName } from '../plugin-packages/sources.ts'
import { bring, type Moving, unload } from './moves.ts'
import type { PluginRecord } from './plugin-entries.ts'

/** Removes folders of the plugins directory, with what is on record of them. */
export async function removeFolders(pluginsDir: string, folders: readonly string[]): Promise<void> {
  const record = createContentRecord(pluginsDir)
  for (const folder of folders) {
    await rm(join(pluginsDir, folder), { recursive: true, force: true })
    record.write(folder, undefined)
  }
}

/** See `PluginRegistry.uninstall`. */
export async function uninstall(
  parts: Moving,
  name: string,
  version: string | undefined,
): Promise<PluginRecord> {
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
