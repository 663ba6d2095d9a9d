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
  /** The schema of its configuration. */
  readonly schema?: object
  /** The package's name; `plugin-<id>` when absent. */
  readonly packageName?: string
}

/** The text of the manifest of a build. */
export function packageJsonOf(build: PluginBuild): string {
  const { id, version, code, schema, manifest, packageJson, packageName } = build
  if (packageJson !== undefined) return packageJson
  const steeple = {
    id,
    kind: 'feature',
    contracts: '*',
    config_path: id.replaceAll('-', '_'),
    handover: 'overlap',
    metrics: metricsOf(id, code),
    ...(schema === undefined ? {} : { config: './config.schema.json' }),
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

/** The metrics that a source of these tests names, and the one that `sourceOf` makes of the id. */
function metricsOf(id: string, code: string): Readonly<Record<string, string>> {
  const named = [...code.matchAll(/'(svc_[a-z0-9]+(?:_[a-z0-9]+)+)'/g)].map(([, name]) => String(name))
  const names = [`svc_${id.replaceAll('-', '_')}_copies`, ...named]
  return Object.fromEntries(names.map((name) => [name, 'of a test']))
}

/** Puts a build into `<data_dir>/plugins/<id>@<version>-<sha8>`, whole or not at all; gives the folder. */
export function installVersion(dataDir: string, build: PluginBuild): string {
  const plugins = join(dataDir, 'plugins')
  const hash = createHash('sha256').update(build.code).digest('hex').slice(0, 8)
  const dir = join(plugins, `${build.id}@${build.version}-${hash}`)
  const draft = join(plugins, `.draft-${build.id}-${build.version}`)
  mkdirSync(draft, { recursive: true, mode: 0o755 })
  writeFileSync(join(draft, 'package.json'), packageJsonOf(build))
  if (build.schema !== undefined)
    writeFileSync(join(draft, 'config.schema.json'), JSON.stringify(build.schema))
  writeFileSync(join(draft, 'plugin.js'), build.code)
  renameSync(draft, dir)
  return dir
}
