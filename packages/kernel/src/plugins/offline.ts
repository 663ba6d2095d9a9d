import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pluginNotFound } from '@steeple/contracts'
import { lockDataDir } from '../composition/data-dir-lock.ts'
import { createKeptStates } from '../plugin-packages/kept-states.ts'
import { installedName } from '../plugin-packages/sources.ts'
import { removeFolders } from './uninstall.ts'

/** Where the files of a service are that does not run: both absolute. */
export interface OfflinePlace {
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
