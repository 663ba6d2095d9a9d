import type { PluginHost } from './host.ts'
import type { FoundPlugin } from './manifest.ts'

/**
 * Why the configuration leaves a plugin out; undefined when it does not. What is part of every build stays: without it
 * the service would not be one.
 */
export function leftOutBecause(host: PluginHost, found: FoundPlugin): string | undefined {
  const { essential, id } = found.manifest
  if (essential === true) return undefined
  if (host.settings.current().plugins.disabled.includes(id)) return 'it is in plugins.disabled'
  return unchosenBecause(host, found)
}

/** Why the choice of its kind fell on another plugin; undefined when it did not, or when there is no choice. */
export function unchosenBecause(host: PluginHost, { manifest }: FoundPlugin): string | undefined {
  const { selected_by: by } = manifest
  if (by === undefined) return undefined
  const value = by.key.split('.').reduce<unknown>(propertyOf, host.settings.current())
  return value === by.value ? undefined : `it needs ${by.key} to be ${by.value}, which is ${String(value)}`
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
