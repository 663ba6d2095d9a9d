import { isDeepStrictEqual } from 'node:util'
import type { JsonSchema } from '@steeple/contracts'

/** What stands for a value that nobody outside has to see. */
export const REPLACED = '[replaced]'

/** Formats whose texts tell of nobody: what they may hold is known. */
const HARMLESS_FORMATS: ReadonlySet<unknown> = new Set([
  'duration',
  'listen-address',
  'loopback-address',
  'cidr',
  'ip',
  'ipv4',
  'interface',
  'metric',
  'time-zone',
])
/** Of every kind: one may hold a user and a password. */
const URL_FORMAT = /^([a-z]+-)?url$/
/** What a pattern of a duration ends with, and a duration itself. */
const DURATION_UNITS = '(ms|s|m|h|d|w|y)'
const DURATION = /^(\d+(\.\d+)?(ms|s|m|h|d|w|y))*$|^0$/
/** Larger numbers may be somebody's. */
const LARGEST_NUMBER = 1e13

type Fields = Readonly<Record<string, unknown>>

/**
 * The configuration for somebody outside, key by dotted key. A value appears only where its schema says that it is
 * harmless: a truth value, a number, one of an enumeration, a format such as a duration, what `x-shown` marks, and what the
 * schema itself has as the default. Of URLs scheme and host are left. All else is `[replaced]`, also keys of no schema.
 */
export function publicConfig(schema: JsonSchema, settings: unknown): Readonly<Record<string, unknown>> {
  const shown: Record<string, unknown> = {}
  const walk = (inner: JsonSchema, value: unknown, path: string): void => {
    if (isGroup(inner) && isFields(value)) {
      const properties = propertiesOf(inner)
      for (const name of Object.keys(properties)) walk(properties[name] ?? {}, value[name], `${path}.${name}`)
      return
    }
    if (value !== undefined) shown[path.slice(1)] = shownValue(inner, value)
  }
  walk(schema, settings, '')
  return shown
}

function shownValue(schema: JsonSchema, value: unknown): unknown {
  if (value === '' || value === null) return value
  if (schema['x-secret'] === true) return REPLACED
  if (schema.default !== undefined && isDeepStrictEqual(schema.default, value)) return value
  if (Array.isArray(value)) return shownList(schema, value)
  if (isFields(value)) return shownFields(schema, value)
  if (typeof value === 'string') return shownText(schema, value)
  return isHarmlessFact(schema, value) ? value : REPLACED
}

function isHarmlessFact(schema: JsonSchema, value: unknown): boolean {
  if (typeof value === 'boolean') return isOf(schema, 'boolean')
  const isNumber = isOf(schema, 'integer') || isOf(schema, 'number')
  return typeof value === 'number' && isNumber && Math.abs(value) < LARGEST_NUMBER
}

function shownText(schema: JsonSchema, value: string): string {
  if (Array.isArray(schema.enum) && schema.enum.includes(value)) return value
  if (HARMLESS_FORMATS.has(schema.format) || schema['x-shown'] === true) return value
  if (URL_FORMAT.test(String(schema.format))) return shownUrl(value)
  const isDuration = typeof schema.pattern === 'string' && schema.pattern.includes(DURATION_UNITS)
  return isDuration && DURATION.test(value) ? value : REPLACED
}

/** Hosts with their ports; a driver of a database takes several. */
const HOSTS = /^(?:(?:[\w.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:,|$))+$/i

/** Scheme and host: what is before and behind the host may be a credential. */
function shownUrl(text: string): string {
  const [, scheme, host = '', rest = ''] =
    /^([a-z][a-z0-9+.-]*:)\/\/(?:[^/?#]*@)?([^/?#@]*)(.*)$/is.exec(text) ?? []
  if (scheme === undefined) return REPLACED
  // A password may hold what ends a host: then nobody can tell where it begins.
  return HOSTS.test(host) && !rest.includes('@') ? `${scheme}//${host}/${REPLACED}` : `${scheme}//${REPLACED}`
}

function shownList(schema: JsonSchema, values: readonly unknown[]): unknown {
  const items = schema.items
  return isFields(items)
    ? values.map((value) => shownValue(items, value))
    : `${REPLACED} ${values.length} items`
}

/** Fields that a schema names; of others, whose names somebody chose, what their values are. */
function shownFields(schema: JsonSchema, value: Fields): unknown {
  const properties = propertiesOf(schema)
  const named = Object.entries(value)
    .filter(([name]) => Object.hasOwn(properties, name))
    .map(([name, inner]) => [name, shownValue(properties[name] ?? {}, inner)])
  const free = Object.keys(value).filter((name) => !Object.hasOwn(properties, name))
  const more = schema.additionalProperties
  const chosen = free.map((name, at) => [
    `#${at + 1}`,
    isFields(more) ? shownValue(more, value[name]) : REPLACED,
  ])
  return Object.fromEntries([...named, ...chosen])
}

/** As the configuration has it: a group of keys has properties and is no key itself. */
function isGroup(schema: JsonSchema): boolean {
  return isFields(schema.properties) && schema['x-apply'] === undefined && schema['x-env'] === undefined
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  // A schema's `properties` is a map of schemas by its own definition.
  return isFields(schema.properties) ? (schema.properties as Readonly<Record<string, JsonSchema>>) : {}
}

function isOf(schema: JsonSchema, type: string): boolean {
  return schema.type === type || (Array.isArray(schema.type) && schema.type.includes(type))
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
