import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readSection } from '../src/find-sections.ts'
import { type ConfigOptions, type LoadedConfig, loadConfig } from '../src/load-config.ts'
import type { Section } from '../src/section.ts'
import { createSchemaCompiler } from '../src/validate.ts'

/** A schema that many tests load by is compiled once. */
const COMPILE = createSchemaCompiler()

/** A machine whose surroundings are known. */
export const SURROUNDINGS: NonNullable<ConfigOptions['surroundings']> = {
  interfaces: () => ['lo', 'eth0'],
  hasNodeKeys: (dataDir) => dataDir === '/with/keys',
  canBeFolder: (path) => !path.startsWith('/a/file'),
  certificateProblem: (certFile, keyFile) => {
    if (certFile === '/no/cert') return { file: 'cert_file', message: 'is /no/cert, which cannot be read' }
    return keyFile === '/no/key'
      ? { file: 'key_file', message: 'is /no/key, which cannot be read' }
      : undefined
  },
}

/** The sections of the plugins of this repository. */
export const KNOWN: readonly Section[] = sectionsIn('../../', 'build')
/** The same as if all were there. */
export const SECTIONS: readonly Section[] = KNOWN.map((section) => ({ ...section, origin: 'build' }))

function sectionsIn(folder: string, origin: Section['origin']): readonly Section[] {
  const url = new URL(folder, import.meta.url)
  return readdirSync(url)
    .map((name) => readSection(fileURLToPath(new URL(name, url)), origin))
    .filter((section) => typeof section === 'object')
}

/** A section as a plugin of one key would bring it. */
export function sectionOf(plugin: string, schema: object, origin: Section['origin'] = 'installed'): Section {
  return {
    plugin,
    version: '1.0.0',
    origin,
    configPath: plugin,
    schema: { ...schema },
    metrics: [],
    rules: [],
    paths: [],
  }
}

/** Loads a file of this text, named `control.yaml`. */
export function load(text: string, more: Partial<ConfigOptions> = {}): LoadedConfig {
  return loadConfig({
    file: 'control.yaml',
    readFile: () => text,
    env: {},
    surroundings: SURROUNDINGS,
    sections: SECTIONS,
    compile: COMPILE,
    ...more,
  })
}

/** The lines that refuse this text; empty when it is accepted. Any other error is thrown on. */
export function problems(text: string, more: Partial<ConfigOptions> = {}): readonly string[] {
  try {
    load(text, more)
    return []
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'config_invalid') throw error
    return (error as Error).message.split('\n')
  }
}
