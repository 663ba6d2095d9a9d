import type { Log, Settings } from '@steeple/contracts'
import { diffSettings } from '../config/diff-settings.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { SettingsAccess } from '../plugins/host.ts'

/** The configuration in force, and its change by SIGHUP. */
export interface LiveSettings extends SettingsAccess {
  /**
   * Puts `next` in force where it may: keys that need a restart keep their old value and are named in the log.
   * Tells every listener when anything changed.
   */
  adopt(next: LoadedConfig): void
}

/** Holds `first` until something else is adopted. */
export function createLiveSettings(first: LoadedConfig, log: Log): LiveSettings {
  const listeners = new Set<() => void>()
  let loaded = first
  let settings = first.settings
  return {
    current: () => settings,
    configFor: (path, schema) => {
      const odd = schema === undefined ? [] : loaded.pluginWarnings(path, schema)
      for (const warning of odd) log.warn({ warning }, 'configuration is odd')
      return loaded.pluginConfig(path, schema)
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    adopt: (next) => {
      const changes = diffSettings(settings, next.settings, next.schema)
      const kept = changes.filter(({ apply }) => apply === 'restart').map(({ key }) => key)
      if (kept.length > 0) log.warn({ keys: kept }, 'changed keys need a restart')
      loaded = next
      settings = kept.reduce((all, key) => withValueOf(all, settings, key.split('.')), next.settings)
      const applied = changes.filter(({ apply }) => apply !== 'restart').map(({ key }) => key)
      log.info({ keys: applied }, 'configuration reloaded')
      for (const listener of listeners) listener()
    },
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
