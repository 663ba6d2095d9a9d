import { join } from 'node:path'
import { coreDriverRef, type Plugin } from '@steeple/contracts'
import type { SamplePluginConfig } from './config.ts'
import { coreDriver } from './core-driver.ts'
import { reloadBy } from './reload.ts'

/** A core that reads one folder of JSON files and is told to read them again by a command. */
export const plugin: Plugin<SamplePluginConfig> = {
  setup: async (context) => {
    const { config_dir: named, reload_command: command } = context.config
    const dir = named === '' ? join(context.settings.server.data_dir, context.plugin.id) : named
    const driver = coreDriver({ dir, reload: reloadBy(command) })
    return {
      services: new Map([[coreDriverRef.id, driver]]),
      health: async () => {
        const { configSha256 } = await driver.observe(AbortSignal.timeout(1000))
        const applied =
          configSha256 === undefined ? 'nothing applied yet' : `configuration ${configSha256.slice(0, 12)}`
        // `ok` once src/core-driver.ts asks the core for its phones.
        const detail = `${applied}; its phones are not asked for yet`
        return [{ name: context.plugin.id, kind: 'core', status: 'degraded', detail }]
      },
    }
  },
}
