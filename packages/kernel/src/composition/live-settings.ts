import { configInvalid, type JsonSchema, type Log, type Settings } from '@steeple/contracts'
import {
  diffSettings,
  type LoadedConfig,
  lineOf,
  type Section,
  type SettingInForce,
  settingsInForce,
  valueAt,
} from '@steeple/settings'
import type { SettingsAccess } from '../plugins/host.ts'

/** The configuration in force, and its change by SIGHUP and by plugins that come. */
export interface LiveSettings extends SettingsAccess {
  /**
   * Puts `next` in force where it may: keys that need a restart keep their old value and are named in the log.
   * Tells every listener when anything changed.
   */
  adopt(next: LoadedConfig): void
  /** The schema that it was checked against, that of plugins included. */
  schema(): JsonSchema
  /** Every key with what is in force; see `settingsInForce`. */
  inForce(): readonly SettingInForce[]
  /** What routes of plugins begin with, and whose they are; also of plugins that are only known. */
  features(): readonly { readonly prefix: string; readonly plugin: string }[]
}

/** Holds `first` until something else is adopted. */
export function createLiveSettings(first: LoadedConfig, log: Log): LiveSettings {
  const listeners = new Set<() => void>()
  const said = new Set(first.warnings)
  let loaded = first
  /** What the configuration was last found to be judged by: equal to the sections of `loaded`, and mostly the same objects. */
  let known = first.sections
  let settings = first.settings

  /** Keys that change at a start only keep the value that they have. Gives them, and the others that changed. */
  const enforce = (next: LoadedConfig): Record<'kept' | 'applied', readonly string[]> => {
    const changes = diffSettings(settings, next.settings, next.schema)
    const isKept = ({ key, apply }: (typeof changes)[number]): boolean =>
      apply === 'restart' && valueAt(settings, key.split('.')) !== undefined
    const kept = changes.filter(isKept).map(({ key }) => key)
    const applied = changes.filter((change) => !isKept(change)).map(({ key }) => key)
    loaded = next
    known = next.sections
    settings = kept.reduce((all, key) => withValueOf(all, settings, key.split('.')), next.settings)
    for (const warning of next.warnings.filter((one) => !said.has(one))) {
      said.add(warning)
      log.warn({ warning }, 'configuration is odd')
    }
    return { kept, applied }
  }

  const withKnown = (sections: readonly Section[]): readonly Section[] => [
    ...sections,
    ...loaded.sections.filter(({ origin }) => origin === 'known'),
  ]

  return {
    current: () => settings,
    schema: () => loaded.schema,
    inForce: () => settingsInForce(loaded, settings),
    features: () =>
      loaded.sections.flatMap(({ plugin, paths }) => paths.map((prefix) => ({ prefix, plugin }))),
    judge: (sections) => {
      loaded.withSections(withKnown(sections))
    },
    know: (sections) => {
      const all = withKnown(sections)
      if (all.length === known.length && all.every((section, at) => section === known[at])) return
      if (JSON.stringify(all) === JSON.stringify(loaded.sections)) known = all
      else enforce(loaded.withSections(all))
    },
    configFor: (section) => {
      const problems = loaded.problemsOf(section.plugin)
      if (problems.length === 0) return valueAt(settings, section.configPath.split('.'))
      const isMissing = problems.every((problem) => problem.isMissing === true)
      throw Object.assign(configInvalid(problems.map(lineOf).join('; ')), {
        waitsFor: isMissing ? 'set it' : 'correct it',
      })
    },
    changes: (before, configPath) =>
      diffSettings(before, settings, loaded.schema).filter(({ key }) => isOf(configPath, key)),
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    adopt: (next) => {
      const { kept, applied } = enforce(next)
      if (kept.length > 0) log.warn({ keys: kept }, 'changed keys need a restart')
      log.info({ keys: applied }, 'configuration reloaded')
      complain(next, applied, log)
      for (const listener of listeners) listener()
    },
  }
}

/** Whether a key is of the section at `configPath`, or that itself. */
function isOf(configPath: string, key: string): boolean {
  return key === configPath || key.startsWith(`${configPath}.`)
}

/** Of sections that their plugins would refuse. Where a key has changed a plugin is told, and complains itself. */
function complain({ sections, problemsOf }: LoadedConfig, changed: readonly string[], log: Log): void {
  for (const { plugin, configPath } of sections) {
    const problems = problemsOf(plugin)
    if (problems.length === 0 || changed.some((key) => isOf(configPath, key))) continue
    const problem = problems.map(lineOf).join('; ')
    log.warn(
      { plugin, problem },
      'its configuration is wrong: it goes on with what it has, and would not start with it',
    )
  }
}

/** `target` with the value that `source` has at `path`. Both have every key of the schema. */
function withValueOf(target: Settings, source: Settings, path: readonly string[]): Settings {
  const replace = (into: unknown, from: unknown, [key, ...rest]: readonly string[]): unknown => {
    if (key === undefined) return from
    // Both are maps of the validated configuration as long as the path goes on.
    const [intoMap, fromMap] = [into, from] as readonly Readonly<Record<string, unknown>>[]
    return { ...intoMap, [key]: replace(intoMap?.[key], fromMap?.[key], rest) }
  }
  return replace(target, source, path) as Settings
}
