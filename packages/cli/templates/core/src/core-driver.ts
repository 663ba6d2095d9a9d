import type { CoreDriver } from '@steeple/contracts'
import { readFolder, writeFolder } from './config-folder.ts'
import type { Reload } from './reload.ts'
import { render, sha256Of } from './render.ts'

/** What the driver works on. */
export interface CoreDriverOptions {
  /** Folder of the core's configuration. */
  readonly dir: string
  readonly reload: Reload
}

/**
 * A core that is a folder of files and a reload command.
 *
 * It knows no radios and no phones: `observe` counts none and nobody is ever attached. A driver of a real core asks the
 * core instead.
 */
export function coreDriver(options: CoreDriverOptions): CoreDriver {
  const { dir, reload } = options
  return {
    render: async (desired) => render(desired),
    observe: async (signal) => {
      signal.throwIfAborted()
      const files = await readFolder(dir)
      return {
        configSha256: files.size === 0 ? undefined : sha256Of(files),
        services: new Map([['configuration', files.size === 0 ? 'unknown' : 'up']]),
        radios: 0,
        attachedUes: 0,
      }
    },
    apply: async (config, signal) => {
      signal.throwIfAborted()
      const before = await readFolder(dir)
      if (sha256Of(before) === config.sha256) return
      await writeFolder(dir, config.files)
      try {
        await reload(signal)
      } catch (error) {
        // The last good files go back before anybody reads the ones that were refused.
        await writeFolder(dir, before)
        throw error
      }
    },
    kick: async (_imsi, signal) => {
      signal.throwIfAborted()
      return 'not_attached'
    },
    ues: async (signal) => {
      signal.throwIfAborted()
      return []
    },
  }
}
