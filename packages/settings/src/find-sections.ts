import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE_CONFIG } from '@steeple/contracts'
import { isMap, valueAt } from './config-tree.ts'
import { type ConfigOptions, unchecked } from './load-config.ts'
import { propertiesOf } from './schema-tree.ts'
import type { Section } from './section.ts'
import { keysProblem, schemaProblem } from './validate.ts'

const MOST_BYTES = 1024 * 1024

export interface SectionSources {
  /** Package folders of the plugins of this build. */
  readonly packages: readonly string[]
  /** Folders with the manifests of plugins that exist and that this build may lack. */
  readonly known: readonly string[]
}

/** The sections of the build, of what is installed and of what is known, in the order in which they count. */
export function findSections(options: ConfigOptions, sources: SectionSources): readonly Section[] {
  const installed = foldersIn(pluginsDirOf(options))
  return [
    ...sources.packages.map((dir) => readSection(dir, 'build')),
    ...installed.map((dir) => readSection(dir, 'installed')),
    ...sources.known.map((dir) => readSection(dir, 'known')),
  ].filter((section) => typeof section === 'object')
}

/**
 * The section of a package folder. A text says why its schema cannot be used; undefined: the folder holds no plugin.
 */
export function readSection(dir: string, origin: Section['origin']): Section | string | undefined {
  const manifest = readJson(join(dir, 'package.json'))
  const own = valueAt(manifest, ['steeple'])
  if (!isMap(own) || typeof own.id !== 'string') return undefined
  const file = own.config
  const schema = typeof file === 'string' ? readJson(join(dir, file)) : undefined
  const problem = file === undefined ? undefined : problemOf(schema, origin)
  if (problem !== undefined) return `${String(file)} ${problem}`
  return {
    plugin: own.id,
    version: String(valueAt(manifest, ['version']) ?? ''),
    origin,
    configPath: String(own.config_path),
    schema: isMap(schema) ? schema : undefined,
    // A collector is there for a core and is none.
    ...(own.kind === 'collector' ? {} : selectsOf(own.selected_by)),
    metrics: isMap(own.metrics) ? Object.keys(own.metrics) : [],
    rules: isMap(own.alerts) ? Object.keys(own.alerts) : [],
    paths: isMap(own.paths) ? Object.keys(own.paths) : [],
  }
}

function problemOf(schema: unknown, origin: Section['origin']): string | undefined {
  if (!isMap(schema)) return 'is missing, no JSON or larger than 1 MiB'
  return origin === 'installed' ? schemaProblem(schema) : keysProblem(schema)
}

/** The registry refuses a manifest whose choice is something else. */
function selectsOf(by: unknown): Pick<Section, 'selects'> {
  if (!isMap(by) || typeof by.key !== 'string' || !Array.isArray(by.values)) return {}
  return { selects: { key: by.key, values: by.values.filter((value) => typeof value === 'string') } }
}

function pluginsDirOf(options: ConfigOptions): string | undefined {
  const named = unchecked(options, ['plugins', 'dir'])
  if (typeof named === 'string' && named !== '') return named
  const fallback = propertiesOf(propertiesOf(SERVICE_CONFIG).server ?? {}).data_dir?.default
  const dataDir = unchecked(options, ['server', 'data_dir']) ?? fallback
  return typeof dataDir === 'string' ? join(dataDir, 'plugins') : undefined
}

function foldersIn(dir: string | undefined): readonly string[] {
  try {
    return dir === undefined
      ? []
      : readdirSync(dir)
          // What is being installed, or was when the machine lost power, has no name yet.
          .filter((name) => !name.startsWith('.'))
          .map((name) => join(dir, name))
  } catch {
    // Absent until the first plugin is installed; the registry says what else may be wrong with it.
    return []
  }
}

function readJson(path: string): unknown {
  try {
    const status = statSync(path)
    // A pipe would be waited for, and what is as large is no text of a manifest.
    if (!status.isFile() || status.size > MOST_BYTES) return undefined
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
