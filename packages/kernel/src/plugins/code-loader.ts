import type { PluginCode } from './code.ts'
import { createLoader } from './loader.ts'
import type { FoundPlugin } from './manifest.ts'
import { childEntry } from './process/child-process.ts'
import { loadProcessCode, type ProcessCodeOptions } from './process/process-code.ts'

/** Brings the code of plugins up: inline ones into this process, the others into a child each. */
export interface CodeLoader {
  load(found: FoundPlugin): Promise<PluginCode>
  /** Takes module hooks away. */
  close(): void
}

/** What the loader of a registry needs; the entry of the children is found beside the kernel when absent. */
export type CodeLoaderOptions = Omit<ProcessCodeOptions, 'childEntry' | 'random'> &
  Partial<Pick<ProcessCodeOptions, 'childEntry' | 'random'>>

/** Makes the loader of a registry. */
export function createCodeLoader(options: CodeLoaderOptions): CodeLoader {
  const inline = createLoader(options.contractsUrl)
  return {
    load: async (found) => {
      if (found.manifest.isolation === 'process') {
        return await loadProcessCode(found, { childEntry: childEntry(), random: Math.random, ...options })
      }
      return { plugin: await inline.load(found), dispose: async () => undefined }
    },
    close: () => inline.close(),
  }
}
