import type { PluginCode } from './code.ts'
import { createLoader } from './loader.ts'
import type { FoundPlugin } from './manifest.ts'

/** Brings the code of plugins up: inline ones into this process. */
export interface CodeLoader {
  load(found: FoundPlugin): Promise<PluginCode>
  close(): void
}

/** Makes the loader of a registry. */
export function createCodeLoader(options: { readonly contractsUrl: string }): CodeLoader {
  const inline = createLoader(options.contractsUrl)
  return {
    load: async (found) => ({ plugin: await inline.load(found), dispose: async () => undefined }),
    close: () => inline.close(),
  }
}
