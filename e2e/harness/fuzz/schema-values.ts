import fc, { type Arbitrary } from 'fast-check'
import type { Json } from '../openapi.ts'

const DEPTH_LIMIT = 6

/** Values that mean something to the service, by the name of the property or parameter that takes them. */
export type Hints = Readonly<Record<string, readonly unknown[]>>

const NO_HINTS: Hints = {}
/** What was made of a schema, and of a pattern: fast-check works long on it. */
const ofSchema = new WeakMap<Json, Arbitrary<unknown>>()
const ofPattern = new Map<string, Arbitrary<string>>()

/** Values that fit a JSON Schema, as far as its keywords are known here; anything for what is not. */
export function valuesOf(schema: Json, hints: Hints = NO_HINTS): Arbitrary<unknown> {
  if (hints !== NO_HINTS) return valuesAt(schema, hints, 0)
  const values = ofSchema.get(schema) ?? valuesAt(schema, hints, 0)
  ofSchema.set(schema, values)
  return values
}

function valuesAt(schema: Json, hints: Hints, depth: number): Arbitrary<unknown> {
  if (depth > DEPTH_LIMIT) return fc.constant(null)
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  const branches = schema.oneOf ?? schema.anyOf
  if (Array.isArray(branches))
    return fc.oneof(...branches.map((branch: Json) => valuesAt(branch, hints, depth + 1)))
  const types = schema.type === undefined ? [] : [schema.type].flat().map(String)
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 })
  const weighted = types.map((type) => ({
    arbitrary: valuesOfType(type, schema, hints, depth),
    weight: type === 'null' ? 1 : 8,
  }))
  return fc.oneof(...weighted)
}

function valuesOfType(type: string, schema: Json, hints: Hints, depth: number): Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return strings(schema)
    case 'integer':
      return integers(schema)
    case 'number':
      return fc.double({ ...boundsOf(schema), noNaN: true, noDefaultInfinity: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return arrays(schema, hints, depth)
    default:
      return objects(schema, hints, depth)
  }
}

function strings(schema: Json): Arbitrary<string> {
  if (schema.format === 'date-time') return timestamps()
  const maxLength = Math.min(number(schema.maxLength) ?? 40, 300)
  const minLength = number(schema.minLength) ?? 0
  if (typeof schema.pattern === 'string') {
    const matching = patternValues(schema.pattern, maxLength)
    if (matching !== undefined) return matching.filter((text) => text.length >= minLength)
  }
  return fc.oneof(
    fc.string({ minLength, maxLength }),
    fc.string({ minLength, maxLength, unit: 'grapheme' }).map((text) => text.slice(0, maxLength)),
    fc.string({ minLength: maxLength, maxLength }),
  )
}

function timestamps(): Arbitrary<string> {
  return fc.oneof(
    fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date(8.64e13) })
      .map((date) => date.toISOString()),
    fc.constantFrom(
      '2016-12-31T23:59:60Z',
      '2026-01-01T00:00:00+23:59',
      '0000-01-01T00:00:00Z',
      '9999-12-31t23:59:59z',
    ),
  )
}

function patternValues(pattern: string, maxLength: number): Arbitrary<string> | undefined {
  try {
    const matching = ofPattern.get(pattern) ?? fc.stringMatching(new RegExp(pattern))
    ofPattern.set(pattern, matching)
    return matching.map((text) => text.slice(0, maxLength))
  } catch {
    return undefined
  }
}

function integers(schema: Json): Arbitrary<number> {
  const { min = -1_000, max = 1_000_000 } = boundsOf(schema)
  return fc.integer({
    min: Math.max(min, Number.MIN_SAFE_INTEGER),
    max: Math.min(Math.max(min, max), Number.MAX_SAFE_INTEGER),
  })
}

function boundsOf(schema: Json): { readonly min?: number; readonly max?: number } {
  const min = number(schema.minimum)
  const max = number(schema.maximum)
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
}

function arrays(schema: Json, hints: Hints, depth: number): Arbitrary<unknown> {
  const items = isObject(schema.items)
    ? valuesAt(schema.items, hints, depth + 1)
    : fc.jsonValue({ maxDepth: 1 })
  const minLength = number(schema.minItems) ?? 0
  const maxLength = Math.max(minLength, Math.min(number(schema.maxItems) ?? 5, 5))
  if (schema.uniqueItems !== true) return fc.array(items, { minLength, maxLength })
  return fc.uniqueArray(items, { minLength, maxLength, selector: (item) => JSON.stringify(item) })
}

function objects(schema: Json, hints: Hints, depth: number): Arbitrary<unknown> {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const model = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, hinted(name, inner as Json, hints, depth + 1)]),
  )
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  // Few optional members at a time: each may be the one that is refused.
  const optional = Object.keys(model).filter((name) => !required.includes(name))
  const chosen = fc.subarray(optional, { maxLength: Math.min(2, optional.length) })
  const known = chosen.chain((names) =>
    fc.record(
      Object.fromEntries([...required, ...names].map((name) => [name, model[name] ?? fc.jsonValue()])),
    ),
  )
  if (!isObject(schema.additionalProperties)) return known
  const name = isObject(schema.propertyNames) ? strings(schema.propertyNames) : fc.string()
  const more = fc.dictionary(name, valuesAt(schema.additionalProperties, hints, depth + 1), { maxKeys: 3 })
  return fc.tuple(more, known).map(([extra, own]) => ({ ...extra, ...own }))
}

function hinted(name: string, schema: Json, hints: Hints, depth: number): Arbitrary<unknown> {
  const known = hints[name]
  const fitting = valuesAt(schema, hints, depth)
  return known === undefined
    ? fitting
    : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, fitting)
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
