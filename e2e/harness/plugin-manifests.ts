import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './launch.ts'

/** What a plugin of this checkout says of itself, as far as tests ask. */
interface PluginManifest {
  readonly id: string
  readonly essential?: boolean
  readonly config?: string
  readonly paths?: Readonly<Record<string, unknown>>
  readonly provides?: readonly string[]
  readonly metrics?: Readonly<Record<string, string>>
  readonly errors?: readonly { readonly code: string }[]
  readonly commands?: readonly object[]
  readonly pages?: readonly { readonly module: string }[]
  readonly panels?: readonly { readonly module: string }[]
}

/** A plugin of this checkout: the folder below `packages/`, and the manifest. */
export interface BundledPlugin {
  readonly name: string
  readonly manifest: PluginManifest
}

/** All plugins of this checkout, by the names of their folders. */
export function bundledPlugins(): readonly BundledPlugin[] {
  return readdirSync(join(ROOT, 'packages'))
    .sort()
    .flatMap((name) => {
      const file = join(ROOT, 'packages', name, 'package.json')
      if (!existsSync(file)) return []
      // Of this repository.
      const { steeple } = JSON.parse(readFileSync(file, 'utf8')) as { readonly steeple?: PluginManifest }
      return steeple === undefined ? [] : [{ name, manifest: steeple }]
    })
}
