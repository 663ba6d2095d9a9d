import { CONFIG_SCHEMA, type JsonSchema, type Settings } from '@steeple/contracts'

/** `T` with any part left out. Lists and scalars are replaced as a whole. */
export type Overrides<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: Overrides<T[Key]> }
    : T

/** The default settings of the configuration schema with `overrides` laid over them. Nothing is validated. */
export function defaultSettings(overrides: Overrides<Settings> = {}): Settings {
  // The schema has a default for every property of Settings; a test of contracts holds it to that.
  return merge(defaultOf(CONFIG_SCHEMA), overrides) as Settings
}

function defaultOf(schema: JsonSchema): unknown {
  const properties = schema.properties
  if (!isRecord(properties)) return structuredClone(schema.default)
  const entries = Object.entries(properties).map(([key, value]) => [
    key,
    defaultOf(isRecord(value) ? value : {}),
  ])
  return Object.fromEntries(entries)
}

function merge(base: unknown, over: unknown): unknown {
  if (!isRecord(base) || !isRecord(over)) return over === undefined ? base : over
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) merged[key] = merge(base[key], value)
  return merged
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
