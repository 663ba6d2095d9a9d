import { isDeepStrictEqual } from 'node:util'
import { type Apply, CONFIG_SCHEMA, type JsonSchema } from '@steeple/contracts'

/** What a change of a plugin's configuration asks for. */
export interface SettingsChange {
  /** Some changed property takes effect by a new copy of the plugin. */
  readonly reload: boolean
  /** Dotted keys that take effect at the next start of the service only. */
  readonly restart: readonly string[]
}

/**
 * Compares the configuration of a plugin with what it was set up with. `schema` is the plugin's own; without one the
 * specification's at that path counts. A property that says nothing of `x-apply` needs a reload.
 */
export function changeOf(
  path: string,
  schema: JsonSchema | undefined,
  before: unknown,
  after: unknown,
): SettingsChange {
  const changed: { key: string; apply: Apply }[] = []
  collect(schema ?? schemaAt(path), path, before, after, changed)
  return {
    reload: changed.some(({ apply }) => apply === 'reload'),
    restart: changed.filter(({ apply }) => apply === 'restart').map(({ key }) => key),
  }
}

function collect(
  schema: unknown,
  path: string,
  before: unknown,
  after: unknown,
  changed: { key: string; apply: Apply }[],
): void {
  if (isDeepStrictEqual(before, after)) return
  const properties = propertyOf(schema, 'properties')
  const apply = propertyOf(schema, 'x-apply')
  if (apply !== undefined || properties === undefined) {
    changed.push({ key: path, apply: apply === 'hot' || apply === 'restart' ? apply : 'reload' })
    return
  }
  for (const key of new Set([...keysOf(before), ...keysOf(after)])) {
    collect(
      propertyOf(properties, key),
      `${path}.${key}`,
      propertyOf(before, key),
      propertyOf(after, key),
      changed,
    )
  }
}

function schemaAt(path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, key) => propertyOf(propertyOf(at, 'properties'), key), CONFIG_SCHEMA)
}

function keysOf(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : []
}

function propertyOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
