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
 * Its phones are yours to write: nothing is known of them here, and what must be asked of the core says so.
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
        // Not known, which is not 0: the core is to be asked.
        radios: undefined,
        attachedUes: undefined,
      }
    },
    apply: async (config, signal) => {
      signal.throwIfAborted()
      const before = await readFolder(dir)
      if (sha256Of(before) === config.sha256) return { changed: [], restarted: [] }
      await writeFolder(dir, config.files)
      try {
        await reload(signal)
      } catch (error) {
        // The last good files go back before anybody reads the ones that were refused.
        await writeFolder(dir, before)
        throw error
      }
      return { changed: changedPaths(before, config.files), restarted: [] }
    },
    kick: async (_imsi, signal) => {
      signal.throwIfAborted()
      throw new Error(
        'here is what to write: kick in src/core-driver.ts has the core drop a phone, and looks that it is gone',
      )
    },
    ues: async (signal) => {
      signal.throwIfAborted()
      throw new Error(
        'here is what to write: ues in src/core-driver.ts asks the core for the phones that it knows',
      )
    },
  }
}

/** Paths whose content differs, or that only one of them has. */
function changedPaths(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  const paths = new Set([...before.keys(), ...after.keys()])
  return [...paths].filter((path) => before.get(path) !== after.get(path)).toSorted()
}
