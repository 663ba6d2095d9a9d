import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from '@steeple/contracts'
import type { InlinePlugin, TestbedPlugin } from '@steeple/testkit'

/** Plugins given as values, by the URL-safe name under which their package finds them. */
type Shelf = Map<string, Plugin>

const SHELF = Symbol.for('steeple.testbed.plugins')

function shelf(): Shelf {
  // The symbol is this file's own; the packages it writes read the same one.
  const holder = globalThis as { [SHELF]?: Shelf }
  holder[SHELF] ??= new Map()
  return holder[SHELF]
}

/** Makes package folders of plugins: the registry takes folders, tests have values. */
export function createInlinePackages(root: string): {
  folderOf(plugin: TestbedPlugin): Promise<string>
  clear(): void
} {
  const keys: string[] = []
  let count = 0
  return {
    folderOf: async (plugin) => {
      if ('dir' in plugin) return plugin.dir
      count += 1
      const key = `${root}#${count}`
      keys.push(key)
      shelf().set(key, plugin.plugin)
      return await writePackage(join(root, `${plugin.manifest.id}-${count}`), plugin, key)
    },
    clear: () => {
      for (const key of keys) shelf().delete(key)
    },
  }
}

async function writePackage(folder: string, inline: InlinePlugin, key: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const manifest = {
    name: inline.name,
    version: inline.version,
    type: 'module',
    exports: { '.': './index.js' },
    steeple: inline.manifest,
  }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  if (inline.schema !== undefined && inline.manifest.config !== undefined)
    await writeFile(join(folder, inline.manifest.config), JSON.stringify(inline.schema))
  const code = `export const plugin = globalThis[Symbol.for('steeple.testbed.plugins')].get(${JSON.stringify(key)})\n`
  await writeFile(join(folder, 'index.js'), code)
  return folder
}
