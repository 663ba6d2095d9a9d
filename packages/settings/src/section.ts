import type { JsonSchema } from '@steeple/contracts'

/** What a plugin's manifest says of the configuration. Nothing of the plugin is run to know it. */
export interface Section {
  /** The plugin's id. */
  readonly plugin: string
  readonly version: string
  /** `build`: a package of this build. `installed`: in the plugins directory. `known`: this build lacks it. */
  readonly origin: 'build' | 'installed' | 'known'
  /** Dotted path of what the plugin gets as its own configuration. */
  readonly configPath: string
  /** Schema of its keys, from the root of the configuration; undefined when it has none. */
  readonly schema: JsonSchema | undefined
  /** The values of a key by which it is chosen. */
  readonly selects?: { readonly key: string; readonly values: readonly string[] }
  /** The metrics that it declares. */
  readonly metrics: readonly string[]
  /** The alert rules that it brings. */
  readonly rules: readonly string[]
  /** What its routes begin with. */
  readonly paths: readonly string[]
  /** Of a plugin of which no schema is here: the dotted paths of its keys. */
  readonly keys?: readonly string[]
}

/**
 * As they count: plugins of the build before installed ones, of one plugin the highest version first; of those that are
 * only known, what is not here.
 */
export function inOrder(sections: readonly Section[]): readonly Section[] {
  const here = sections.filter(({ origin }) => origin !== 'known')
  const ids = new Set(here.map(({ plugin }) => plugin))
  const isOfBuild = (id: string): boolean =>
    here.some(({ plugin, origin }) => plugin === id && origin === 'build')
  const order = [...ids].toSorted((a, b) => Number(isOfBuild(b)) - Number(isOfBuild(a)) || (a < b ? -1 : 1))
  return [
    ...order.flatMap((id) =>
      here
        .filter(({ plugin }) => plugin === id)
        .toSorted((a, b) => compareVersions(b.version, a.version) || (a.origin === 'build' ? -1 : 1)),
    ),
    ...sections.filter(({ origin, plugin }) => origin === 'known' && !ids.has(plugin)),
  ]
}

/** Made when two are compared: making it takes as long as all else here. */
let collator: Intl.Collator | undefined

function compareVersions(one: string, other: string): number {
  collator ??= new Intl.Collator('en', { numeric: true })
  return collator.compare(one, other)
}
