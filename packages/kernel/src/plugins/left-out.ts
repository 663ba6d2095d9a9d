import type { KeptStates } from '../plugin-packages/kept-states.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { PluginHost } from './host.ts'

/**
 * Why a version of a plugin is left out; undefined when it is not. What is part of every build stays: without it the service
 * would not be one.
 */
export function leftOutBecause(
  { settings }: PluginHost,
  kept: KeptStates,
  isSafeMode: boolean,
  found: FoundPlugin,
): string | undefined {
  const { essential, id, machine } = found.manifest
  if (isSafeMode && found.origin === 'installed') return 'the service runs in safe mode'
  if (essential === true) return undefined
  if (kept.of(id).isDisabled === true) return `somebody disabled it; svc plugin enable ${id} brings it back`
  if (settings.current().plugins.disabled.includes(id))
    return 'it is in plugins.disabled of the configuration'
  const { cluster } = settings.current()
  if (machine === true && cluster.instance !== cluster.machine)
    return `it belongs to the machine of the instance ${cluster.machine || '(none: set cluster.machine)'}`
  return unchosenBecause(settings.current(), found)
}

/** Why the choice of its kind fell on another plugin; undefined when it did not, or when there is no choice. */
export function unchosenBecause(settings: object, { manifest }: FoundPlugin): string | undefined {
  const { selected_by: by } = manifest
  if (by === undefined) return undefined
  const value = by.key.split('.').reduce<unknown>(propertyOf, settings)
  if (typeof value === 'string' && by.values.includes(value)) return undefined
  // A manifest can name any key, and this is shown to whoever may list plugins: a URL may hold a password.
  const isName = typeof value === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(value)
  return `it needs ${by.key} to be ${by.values.join(' or ')}, which is ${isName ? value : 'no name of a driver'}`
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
