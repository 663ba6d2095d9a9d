import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isRecord, type JsonSchema, SERVICE_CONFIG, type Settings } from '@steeple/contracts'

/** `T` with any part left out. Lists and scalars are replaced as a whole. */
export type Overrides<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: Overrides<T[Key]> }
    : T

/** Where other packages lie: beside this one where it is installed, in `packages/` of a checkout. */
const BESIDE = ['../../', '../../../packages/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))

let defaults: unknown

/**
 * The default settings of the service and of every plugin whose package lies beside this one (of the package under test,
 * too), with `overrides` laid over them. Nothing is validated.
 */
export function defaultSettings(overrides: Overrides<Settings> = {}): Settings {
  defaults ??= schemas().map(defaultOf).reduce(merge, {})
  // Each schema has a default for every property of Settings; a test of settings holds them to that.
  return merge(structuredClone(defaults), overrides) as Settings
}

function schemas(): readonly JsonSchema[] {
  const folders = [process.cwd(), ...BESIDE.flatMap(inside)]
  return [SERVICE_CONFIG, ...folders.map(schemaOf).filter((schema) => schema !== undefined)]
}

function inside(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}

/** What the manifest in a folder names as the schema of its configuration. */
function schemaOf(folder: string): JsonSchema | undefined {
  const steeple = propertyOf(readJson(join(folder, 'package.json')), 'steeple')
  const file = propertyOf(steeple, 'config')
  const schema = typeof file === 'string' ? readJson(join(folder, file)) : undefined
  return isRecord(schema) ? schema : undefined
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function propertyOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined
}

function defaultOf(schema: JsonSchema): unknown {
  const properties = schema.properties
  if (!isRecord(properties) || schema['x-apply'] !== undefined) return structuredClone(schema.default)
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
