import { isDeepStrictEqual } from 'node:util'
import type { Apply, JsonSchema } from '@steeple/contracts'
import { FLAG_KEYS } from './config-sources.ts'
import { isMap, valueAt } from './config-tree.ts'
import { environmentTable } from './environment.ts'
import { typeText } from './key-words.ts'
import type { LoadedConfig } from './load-config.ts'
import { leavesOf, ownerOf, propertiesOf } from './schema-tree.ts'

/** One key of the configuration: what it is, what is in force, and how it is set. */
export interface SettingInForce {
  /** Dotted. */
  readonly key: string
  readonly about: string
  /** What it takes, in words. */
  readonly takes: string
  readonly default: unknown
  /** `***` where it is or may hold a secret. */
  readonly value: unknown
  /** `default`, `file:line:column`, a variable or a flag. */
  readonly from: string
  readonly apply: Apply
  /** `PUT /v1/settings` may change it in the file. */
  readonly isSettable: boolean
  /** The configuration has another value, which counts from the next start on. */
  readonly awaitsStart: boolean
  /** Variable and flag that set it; undefined: the file alone. */
  readonly variable: string | undefined
  readonly flag: string | undefined
  /** The plugin whose key it is; undefined: the service's own. */
  readonly plugin: string | undefined
}

const HIDDEN = '***'

/** Every key of `loaded` in its order, with what is in force, which is older where a key waits for the next start. */
export function settingsInForce(loaded: LoadedConfig, inForce: unknown): readonly SettingInForce[] {
  const { schema, sections, sources } = loaded
  const variables = new Map(environmentTable(schema).map(({ key, variable }) => [key, variable]))
  const flags = new Map(Object.entries(FLAG_KEYS).map(([flag, key]) => [String(key), flag]))
  return leavesOf(schema).map(({ path, schema: leaf, apply }) => {
    const key = path.join('.')
    const value = valueAt(inForce, path)
    const owner = ownerOf(sections, path)
    return {
      key,
      about: String(leaf.description ?? ''),
      takes: typeText(leaf).replaceAll('`', ''),
      default: leaf.default ?? null,
      value: shown(leaf, value) ?? null,
      from: sources.get(key) ?? 'default',
      apply,
      isSettable: isSettable(leaf),
      awaitsStart: !isDeepStrictEqual(value, valueAt(loaded.settings, path)),
      variable: variables.get(key),
      flag: flags.get(key),
      plugin: owner?.plugin,
    }
  })
}

/** Whether the schema of a key lets it be changed over the API. Never a secret, and never what names a program or a file to run. */
export function isSettable(leaf: JsonSchema): boolean {
  return leaf['x-settable'] === true && leaf['x-secret'] !== true
}

/** A value without what opens something: secrets, and of URLs all but scheme and host (a path or a user may be a token). */
function shown(schema: JsonSchema, value: unknown): unknown {
  if (value === undefined || value === null || value === '') return value
  if (schema['x-secret'] === true) return HIDDEN
  if (typeof value === 'string') return looksLikeUrl(value) ? shownUrl(value) : value
  if (Array.isArray(value)) return value.map((item) => shown(schemaOf(schema.items), item))
  if (!isMap(value)) return value
  const properties = propertiesOf(schema)
  const rest = schemaOf(schema.additionalProperties)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, shown(properties[name] ?? rest, inner)]),
  )
}

function schemaOf(schema: unknown): JsonSchema {
  // A schema below a schema is one by its own definition.
  return isMap(schema) ? (schema as JsonSchema) : {}
}

function looksLikeUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
}

/** Scheme and host. Where what is behind them could belong to a credential, the scheme alone. */
function shownUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.host === '' || text.split('@').length > 2)
    return `${text.slice(0, text.indexOf('://'))}://${HIDDEN}`
  const isBare =
    url.username === '' &&
    (url.pathname === '' || url.pathname === '/') &&
    url.search === '' &&
    url.hash === ''
  return isBare ? text : `${url.protocol}//${url.host}/${HIDDEN}`
}
