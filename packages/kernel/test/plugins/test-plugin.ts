import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Installs whatever there is. */
export const ANYBODY = { policy: { trust: [], allow_unsigned: true } } as const

/** A plugin package to be written to the disk. */
export interface PluginSpec {
  readonly id?: string
  readonly version?: string
  readonly packageName?: string
  /** Merged over a valid manifest. */
  readonly manifest?: Readonly<Record<string, unknown>>
  /** Merged over a valid package.json. */
  readonly package?: Readonly<Record<string, unknown>>
  /** The whole entry, or undefined for one that answers `GET /v1/<id>` with its version. */
  readonly code?: string
  /** The schema of its configuration. */
  readonly schema?: object
  /** The metrics that it declares. */
  readonly metrics?: readonly string[]
}

/** Code of a plugin with one route; `extra` is put into its instance, `setup` before it. */
export function codeOf(
  parts: { setup?: string; instance?: string; body?: string; head?: string } = {},
): string {
  return `${parts.head ?? ''}
export const plugin = {
  setup: async (ctx) => {
    ${parts.setup ?? ''}
    return {
      routes: [{
        method: 'GET', path: '/v1/' + ctx.plugin.id, role: 'viewer', summary: 'test',
        handle: async (request) => ({ body: ${parts.body ?? '{ version: ctx.plugin.version }'} }),
      }],
      ${parts.instance ?? ''}
    }
  },
}
`
}

/** Writes a plugin package into a new folder of `root` and gives its path. */
export async function writePlugin(root: string, spec: PluginSpec = {}): Promise<string> {
  const id = spec.id ?? 'sample'
  const version = spec.version ?? '1.0.0'
  const dir = join(root, `${id}-${version}-${Math.random().toString(36).slice(2, 8)}`)
  await mkdir(dir, { recursive: true })
  await rewritePlugin(dir, spec)
  return dir
}

/** Writes the package's files anew, in place. */
export async function rewritePlugin(dir: string, spec: PluginSpec): Promise<void> {
  const id = spec.id ?? 'sample'
  const pkg = {
    name: spec.packageName ?? `@test/${id}`,
    version: spec.version ?? '1.0.0',
    type: 'module',
    exports: { '.': { default: './plugin.js' } },
    steeple: {
      id,
      kind: 'feature',
      contracts: '*',
      config_path: id.replaceAll('-', '_'),
      handover: 'overlap',
      ...(spec.schema === undefined ? {} : { config: './config.schema.json' }),
      ...(spec.metrics === undefined
        ? {}
        : { metrics: Object.fromEntries(spec.metrics.map((name) => [name, 'of a test'])) }),
      ...spec.manifest,
    },
    ...spec.package,
  }
  await writeFile(join(dir, 'package.json'), JSON.stringify(pkg))
  if (spec.schema !== undefined) await writeFile(join(dir, 'config.schema.json'), JSON.stringify(spec.schema))
  await writeFile(join(dir, 'plugin.js'), spec.code ?? codeOf())
}
