import { basename } from 'node:path'
import { pluginStateConflict } from '@steeple/contracts'
import { installPackage } from '../plugin-packages/install.ts'
import { load, type Moving } from './moves.ts'
import type { PluginRecord } from './plugin-entries.ts'

/** See `PluginRegistry.install`. */
export async function installAndLoad(parts: Moving, bytes: Uint8Array): Promise<PluginRecord> {
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
