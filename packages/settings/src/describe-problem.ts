import type { JsonSchema } from '@steeple/contracts'
import type { ErrorObject } from 'ajv'
import { redactUrls } from './config-error.ts'
import {
  type ConfigTree,
  dotted,
  isMap,
  markOf,
  type Problem,
  pathOf,
  type Segment,
  valueAt,
} from './config-tree.ts'
import { closest, suggestion } from './did-you-mean.ts'
import type { Form } from './forms.ts'
import { leavesOf, propertiesOf } from './schema-tree.ts'

/** Keys whose values are not repeated in a message. */
const SECRET_KEY = /pass|secret|token|credential|api_?key/i
const SHOWN_CHARACTERS = 60

type Forms = Readonly<Record<string, Form>>

/** Turns one error of the validator into a problem: where, which key, what is allowed. */
export function describeProblem(
  error: ErrorObject,
  tree: ConfigTree,
  schema: JsonSchema,
  forms: Forms,
): Problem {
  const path = pathOf(error.instancePath)
  if (error.keyword === 'additionalProperties') return unknownKey(error, path, tree, schema)
  const relation = relationOf(error.schemaPath)
  const mark = markOf(tree, path)
  // A default breaks a relation because of another key, which was set.
  const causes = relation === undefined ? [] : keysOf(conditionOf(schema, relation))
  const cause = isSet(tree, path) ? undefined : causes.find((key) => isSet(tree, key))
  const isMissing = error.keyword === 'required'
  const place = cause === undefined ? (isMissing ? mark?.keyPlace : mark?.place) : markOf(tree, cause)?.place
  return {
    place: isSet(tree, path) || cause !== undefined ? (place ?? '') : '',
    key: dotted(path),
    message: messageOf(error, dotted(path), path, tree, forms),
    ...(isMissing ? { isMissing } : {}),
    ...(relation === undefined ? {} : { relation }),
  }
}

/** The index of a relation in the root's `allOf`. */
function relationOf(schemaPath: string): number | undefined {
  const index = /^#\/allOf\/(\d+)\//.exec(schemaPath)?.[1]
  return index === undefined ? undefined : Number(index)
}

function conditionOf(schema: JsonSchema, relation: number): unknown {
  return valueAt(schema, ['allOf', relation, 'if'])
}

/** The keys that a condition speaks of. */
function keysOf(condition: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (!isMap(condition)) return []
  const inner = Object.entries(propertiesOf(condition))
  const others = [condition.anyOf, condition.allOf].flat().filter(isMap)
  if (inner.length === 0 && others.length === 0) return [path]
  return [
    ...inner.flatMap(([name, one]) => keysOf(one, [...path, name])),
    ...others.flatMap((one) => keysOf(one, path)),
  ]
}

function isSet(tree: ConfigTree, path: readonly Segment[]): boolean {
  return valueAt(tree.root, path) !== undefined
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
  const everywhere = leavesOf(schema).map(({ key }) => key)
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

function messageOf(
  error: ErrorObject,
  key: string,
  path: readonly Segment[],
  tree: ConfigTree,
  forms: Forms,
): string {
  // With `verbose` the validator hands over the schema that was broken.
  const rule = (error.parentSchema ?? {}) as JsonSchema
  const shown = rule['x-secret'] === true ? 'this' : shownValue(error.data, key)
  const allowed = rule['x-allowed']
  if (typeof allowed === 'string' && SAID_BY_ALLOWED.includes(error.keyword))
    return `must be ${allowed}, not ${shown}`
  switch (error.keyword) {
    case 'type':
      return typeMessage(error, key, path, tree)
    case 'enum':
      return enumMessage(error, rule, shown)
    case 'pattern':
      return `must be text that matches ${String(error.params.pattern)}, not ${shown}`
    case 'format':
      return formatMessage(error, rule, forms, shown)
    case 'x-range': {
      const [least, most] = rule['x-range'] as readonly string[] // a keyword of ours, checked when it was read
      return `must be ${least} to ${most}, not ${shown}`
    }
    case 'x-unique':
      return uniqueMessage(rule['x-unique'], error.data)
    case 'const':
      return `must be ${shownValue(error.params.allowedValue, '')}, not ${shown}`
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
      return `needs the key ${error.params.missingProperty}${meaningOf(rule, String(error.params.missingProperty))}`
    case 'propertyNames':
      return `has the name ${shownValue(error.params.propertyName, '')}, which is not allowed here`
    default:
      return redactUrls(error.message ?? 'is not allowed')
  }
}

/** Rules whose message is what `x-allowed` says in words. */
const SAID_BY_ALLOWED: readonly string[] = [
  ...['pattern', 'format', 'not', 'const', 'minimum', 'maximum', 'minLength', 'anyOf', 'oneOf'],
]

function formatMessage(error: ErrorObject, rule: JsonSchema, forms: Forms, shown: string): string {
  const form = forms[String(error.params.format)]
  const empty = rule.minLength === undefined ? 'empty or ' : ''
  const hint = form?.hint?.(String(error.data)) ?? ''
  return `must be ${empty}${form?.words ?? 'something else'}, not ${shown}${hint === '' ? '' : `.${hint}`}`
}

/** The texts that may not come twice: the items, or what they have under `by`. Whatever is none is told of by itself. */
export function textsIn(by: unknown, items: readonly unknown[]): readonly string[] {
  return items
    .map((item) => {
      if (!Array.isArray(by)) return typeof by === 'string' ? valueAt(item, [by]) : item
      const [name = '', url = ''] = by.map(String)
      return valueAt(item, [name]) ?? URL.parse(String(valueAt(item, [url])))?.hostname
    })
    .filter((value) => typeof value === 'string')
}

/** The first that comes twice. */
function uniqueMessage(by: unknown, data: unknown): string {
  const names = textsIn(by, Array.isArray(data) ? data : [])
  const twice = names.find((name, index) =>
    names.slice(0, index).some((one) => one.toLowerCase() === name.toLowerCase()),
  )
  const why = Array.isArray(by)
    ? ` (${by[0]}, or the host of ${by[1]})`
    : typeof by === 'string'
      ? ` (${by})`
      : ''
  return `names ${shownValue(twice, '')} twice${why}`
}

/** What a key is for, behind its name. */
function meaningOf(group: JsonSchema, name: string): string {
  const description = propertiesOf(group)[name]?.description
  return typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
}

function enumMessage(error: ErrorObject, rule: JsonSchema, shown: string): string {
  const allowed = Array.isArray(error.params.allowedValues) ? error.params.allowedValues.map(String) : []
  const near = typeof error.data === 'string' ? suggestion(error.data, allowed) : ''
  const what = rule['x-selects'] === true ? 'name an installed driver,' : 'be'
  return `must ${what} one of ${allowed.join(', ')}, not ${shown}${near === '' ? '' : `.${near}`}`
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
function shownValue(value: unknown, key: string): string {
  if (SECRET_KEY.test(key) && !key.endsWith('_ttl')) return 'this'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a map'
  const text = redactUrls(typeof value === 'string' ? JSON.stringify(value) : String(value))
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text
}
