import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** One version of a plugin, as its author would have built it. */
export interface PluginBuild {
  readonly id: string
  readonly version: string
  /** Text of the bundled entry file. */
  readonly code: string
  /** Fields of `package.json#steeple` that differ from those of a small inline feature. */
  readonly manifest?: Readonly<Record<string, unknown>>
  /** Whole `package.json`, in place of the one made from the fields above. */
  readonly packageJson?: string
  /** The package's name; `plugin-<id>` when absent. */
  readonly packageName?: string
}

/** The text of the manifest of a build. */
export function packageJsonOf({ id, version, manifest, packageJson, packageName }: PluginBuild): string {
  if (packageJson !== undefined) return packageJson
  const steeple = {
    id,
    kind: 'feature',
    contracts: '*',
    config_path: id.replaceAll('-', '_'),
    handover: 'overlap',
    isolation: 'inline',
    ...manifest,
  }
  return `${JSON.stringify(
    {
      name: packageName ?? `plugin-${id}`,
      version,
      type: 'module',
      exports: { '.': './plugin.js' },
      steeple,
    },
    undefined,
    2,
  )}\n`
}

/** Puts a build into `<data_dir>/plugins/<id>@<version>-<sha8>`, whole or not at all; gives the folder. */
export function installVersion(dataDir: string, build: PluginBuild): string {
  const plugins = join(dataDir, 'plugins')
  const hash = createHash('sha256').update(build.code).digest('hex').slice(0, 8)
  const dir = join(plugins, `${build.id}@${build.version}-${hash}`)
  const draft = join(plugins, `.draft-${build.id}-${build.version}`)
  mkdirSync(draft, { recursive: true })
  writeFileSync(join(draft, 'package.json'), packageJsonOf(build))
  writeFileSync(join(draft, 'plugin.js'), build.code)
  renameSync(draft, dir)
  return dir
}
