import { DURATION_PATTERN, type JsonSchema } from '@steeple/contracts'
import type { ErrorObject } from 'ajv'
import { type ConfigTree, dotted, markOf, type Problem, pathOf, type Segment } from './config-tree.ts'
import { closest, suggestion } from './did-you-mean.ts'
import { redactUrls } from './redact-url.ts'
import { leavesOf, propertiesOf } from './schema-tree.ts'

/** What the pattern of a key asks for, in words. A plugin's own pattern is shown with its `description`. */
export const ASKED_BY_KEY: Readonly<Record<string, string>> = {
  'plmn.mcc': '3 digits, such as "999"',
  'plmn.mnc': '2 or 3 digits, such as "99" or "070"',
  'server.country': 'two capital letters (ISO 3166-1 alpha-2), LAB or empty',
  'store.url': 'empty, sqlite:<path> or postgres://<host>/<database>',
  'hss.mongo_url': 'empty or mongodb://<host>/<database>',
  'hss.engine_socket': 'empty or the absolute path of a socket',
  'auth.admin_token_env': 'the name of an environment variable, not the token itself',
  'collector.upf.iface': 'the name of a network interface (at most 15 characters)',
}
const ASKED_BY_PATTERN: ReadonlyMap<string, string> = new Map([
  [DURATION_PATTERN, 'a duration such as 15s, 5m or 1h30m'],
  ['^https?://', 'a URL that begins with http:// or https://'],
  ['^(|https?://.+)$', 'empty or a URL that begins with http:// or https://'],
])
/** Keys whose values are not repeated in a message. */
const SECRET_KEY = /pass|secret|token|credential|api_?key/i
const SHOWN_CHARACTERS = 60

/** Turns one error of the validator into a problem: where, which key, what is allowed. */
export function describeProblem(error: ErrorObject, tree: ConfigTree, schema: JsonSchema): Problem {
  const path = pathOf(error.instancePath)
  if (error.keyword === 'additionalProperties') return unknownKey(error, path, tree, schema)
  const mark = markOf(tree, path)
  const key = dotted(path)
  const isMissingInner = error.keyword === 'required' || error.keyword === 'dependentRequired'
  const message = messageOf(error, key, path, tree)
  return { place: (isMissingInner ? mark?.keyPlace : mark?.place) ?? '', key, message }
}

function unknownKey(
  error: ErrorObject,
  path: readonly Segment[],
  tree: ConfigTree,
  schema: JsonSchema,
): Problem {
  const name = String(error.params.additionalProperty)
  const full = [...path, name]
  // With `verbose` the validator hands over the schema that was broken.
  const siblings = Object.keys(propertiesOf((error.parentSchema ?? {}) as JsonSchema))
  const everywhere = leavesOf(schema).map((leaf) => dotted(leaf.path))
  const sibling = closest(name, siblings)
  const near =
    sibling !== undefined
      ? ` Did you mean ${dotted([...path, sibling])}?`
      : elsewhere(name, everywhere) || suggestion(dotted(full), everywhere)
  const allowed = siblings.length > 0 && siblings.length <= 12 ? ` Allowed here: ${siblings.join(', ')}.` : ''
  const message = `is no key of the configuration.${near || allowed}`
  return { place: markOf(tree, full)?.keyPlace ?? '', key: dotted(full), message }
}

/** A key that stands in another group under the same name. */
function elsewhere(name: string, keys: readonly string[]): string {
  const found = keys.filter((key) => key.split('.').at(-1) === name)
  return found.length === 1 ? ` Did you mean ${found[0]}?` : ''
}

function messageOf(error: ErrorObject, key: string, path: readonly Segment[], tree: ConfigTree): string {
  const shown = shownValue(error.data, key)
  switch (error.keyword) {
    case 'type':
      return typeMessage(error, key, path, tree)
    case 'enum':
      return enumMessage(error, shown)
    case 'pattern':
      return `must be ${asked(error, key)}, not ${shown}`
    case 'minimum':
      return `must be at least ${error.params.limit}, not ${shown}`
    case 'maximum':
      return `must be at most ${error.params.limit}, not ${shown}`
    case 'exclusiveMinimum':
      return `must be greater than ${error.params.limit}, not ${shown}`
    case 'exclusiveMaximum':
      return `must be less than ${error.params.limit}, not ${shown}`
    case 'minLength':
      return 'must not be empty'
    case 'maxItems':
      return `must have at most ${error.params.limit} items`
    case 'required':
      return `needs the key ${error.params.missingProperty}`
    case 'propertyNames':
      return `has the name ${shownValue(error.params.propertyName, '')}, which is not allowed here`
    default:
      return redactUrls(error.message ?? 'is not allowed')
  }
}

function asked(error: ErrorObject, key: string): string {
  const pattern = String(error.params.pattern)
  // With `verbose` the validator hands over the schema that was broken.
  const description = (error.parentSchema as JsonSchema | undefined)?.description
  return (
    ASKED_BY_KEY[key] ??
    ASKED_BY_PATTERN.get(pattern) ??
    (typeof description === 'string' ? description.replace(/\.$/, '') : `text that matches ${pattern}`)
  )
}

function enumMessage(error: ErrorObject, shown: string): string {
  const allowed = Array.isArray(error.params.allowedValues) ? error.params.allowedValues.map(String) : []
  const near = typeof error.data === 'string' ? suggestion(error.data, allowed) : ''
  return `must be one of ${allowed.join(', ')}, not ${shown}${near === '' ? '' : `.${near}`}`
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of keys and values',
  null: 'null',
}

function typeMessage(error: ErrorObject, key: string, path: readonly Segment[], tree: ConfigTree): string {
  const types = [error.params.type].flat().map(String)
  const wanted = types.map((type) => TYPE_WORDS[type] ?? type).join(' or ')
  const mark = markOf(tree, path)
  if (error.data === null || error.data === undefined) {
    return `has no value; it must be ${choices(error) ?? wanted}`
  }
  const isNumberForText = types.includes('string') && ['number', 'boolean'].includes(typeof error.data)
  if (isNumberForText && mark?.kind === 'file') {
    const raw = mark.raw ?? String(error.data)
    return `must be text, not the ${typeof error.data} ${raw}; write it in quotes: "${raw}"`
  }
  if (types.includes('boolean') && mark?.kind === 'environment') {
    return `must be true, false, 1, 0, yes or no, not ${shownValue(error.data, key)}`
  }
  return `must be ${wanted}, not ${shownValue(error.data, key)}`
}

/** The values that are allowed where there is a list of them. */
function choices(error: ErrorObject): string | undefined {
  // With `verbose` the validator hands over the schema that was broken.
  const allowed = (error.parentSchema as JsonSchema | undefined)?.enum
  return Array.isArray(allowed) ? `one of ${allowed.join(', ')}` : undefined
}

/** A value as a message may show it: short, one line, no user or password of a URL, nothing under a secret key. */
export function shownValue(value: unknown, key: string): string {
  if (SECRET_KEY.test(key) && !key.endsWith('_ttl')) return 'this'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a map'
  const text = redactUrls(typeof value === 'string' ? JSON.stringify(value) : String(value))
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}
