import { type ConfigOptions, findSections, type Section } from '@steeple/settings'
import { buildRecord } from '../version.ts'
import { knownPlugins, pluginPackages } from './plugin-packages.ts'

/** What the plugins of the build, of the plugins directory and those that are known say of the configuration. */
export function sectionsHere(options: ConfigOptions): readonly Section[] {
  return [
    ...findSections(options, { packages: pluginPackages(), known: knownPlugins() }),
    ...absentSections(),
  ]
}

/** Of plugins that a build which was given away lacks: the names of their keys and alert rules, and nothing else. */
function absentSections(): readonly Section[] {
  const { absentKeys = {}, absentRules = {} } = buildRecord() ?? {}
  return Object.entries(absentKeys).map(([plugin, keys]) => ({
    plugin,
    version: '',
    origin: 'known',
    configPath: '',
    schema: undefined,
    metrics: [],
    rules: absentRules[plugin] ?? [],
    paths: [],
    keys,
  }))
}
