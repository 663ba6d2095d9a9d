import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONFIG_SCHEMA } from '@steeple/contracts'
import { valueAt } from '../config/config-tree.ts'
import { type ConfigOptions, unchecked } from '../config/load-config.ts'
import { type PluginSchema, propertiesOf } from '../config/schema-tree.ts'

/**
 * Where plugins that the service's own schema does not know have their configuration, so that their keys are not
 * called unknown: those of `packages` and those installed in the plugins directory. Their schemas come with their code
 * when they are loaded.
 *
 * Looks at the configuration before it is checked; what is wrong with it `loadConfig` says.
 */
export function pluginConfigPaths(
  options: ConfigOptions,
  packages: readonly string[],
): readonly PluginSchema[] {
  const own = propertiesOf(CONFIG_SCHEMA)
  const paths = [...packages, ...installed(pluginsDirOf(options))]
    .map(configPathOf)
    .filter((path) => path !== undefined)
    .filter((path) => !Object.hasOwn(own, path.split('.')[0] ?? ''))
  return [...new Set(paths)].map((configPath) => ({ configPath }))
}

function pluginsDirOf(options: ConfigOptions): string | undefined {
  const named = unchecked(options, ['plugins', 'dir'])
  if (typeof named === 'string' && named !== '') return named
  const fallback = propertiesOf(propertiesOf(CONFIG_SCHEMA).server ?? {}).data_dir?.default
  const dataDir = unchecked(options, ['server', 'data_dir']) ?? fallback
  return typeof dataDir === 'string' ? join(dataDir, 'plugins') : undefined
}

function installed(pluginsDir: string | undefined): readonly string[] {
  if (pluginsDir === undefined) return []
  try {
    return readdirSync(pluginsDir).map((name) => join(pluginsDir, name))
  } catch {
    // Absent until the first plugin is installed; the registry says what else may be wrong with it.
    return []
  }
}

function configPathOf(folder: string): string | undefined {
  try {
    const path = valueAt(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), [
      'steeple',
      'config_path',
    ])
    return typeof path === 'string' && /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$/.test(path) ? path : undefined
  } catch {
    // Not a plugin, or one that the registry rejects with its reason.
    return undefined
  }
}
