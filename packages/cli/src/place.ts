import { join, resolve } from 'node:path'
import type { Settings } from '@steeple/contracts'
import type { LoadedConfig } from '@steeple/settings'
import type { Terminal } from './terminal.ts'

/** Where the service's own files are: as its flags of the same names. */
export interface PlaceOptions {
  readonly config?: string
  readonly dataDir?: string
}

/** Variables of the command line, beside those of the configuration. */
export const COMMAND_VARIABLES: readonly string[] = [
  'SVC_URL',
  'SVC_TOKEN',
  'SVC_ADMIN_TOKEN',
  'SVC_CERT',
  'SVC_KEY',
  'SVC_CA',
]

/** The settings that the service would run with here. Throws `config_invalid`. */
export async function settingsHere(
  terminal: Terminal,
  options: PlaceOptions,
  /** Whether a data directory has the node's keys, or is about to; by itself: whether they are there. */
  hasNodeKeys?: (dataDir: string) => boolean,
): Promise<Settings> {
  return (await configHere(terminal, options, hasNodeKeys)).settings
}

/** The configuration that the service would run with here, with its schema. Throws `config_invalid`. */
export async function configHere(
  terminal: Terminal,
  options: PlaceOptions,
  hasNodeKeys?: (dataDir: string) => boolean,
): Promise<LoadedConfig> {
  const [{ loadConfig }, { sectionsHere }] = await Promise.all([
    import('@steeple/settings'),
    import('./composition/sections.ts'),
  ])
  const source = {
    ...(options.config === undefined ? {} : { file: options.config }),
    env: terminal.env,
    flags: options.dataDir === undefined ? {} : { '--data-dir': options.dataDir },
    knownVariables: COMMAND_VARIABLES,
    ...(hasNodeKeys === undefined ? {} : { surroundings: { hasNodeKeys } }),
  }
  return loadConfig({ ...source, sections: sectionsHere(source) })
}

/** The folder of installed plugins: `plugins.dir`, or `plugins` in the data directory. Absolute. */
export function pluginsDirOf(settings: Settings): string {
  const { dir } = settings.plugins
  return resolve(dir === '' ? join(settings.server.data_dir, 'plugins') : dir)
}
