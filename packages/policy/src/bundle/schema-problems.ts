import { type ErrorDetail, isRecord, type JsonSchema } from '@steeple/contracts'

/**
 * What keeps a JSON value from following a schema: a JSON pointer and a sentence each; empty when it follows it.
 *
 * Knows the keywords that the schemas of this package use: type, enum, pattern, minLength, maxLength, minimum, maximum,
 * items, minItems, maxItems, uniqueItems, properties, required and additionalProperties: false.
 */
export function schemaProblems(schema: JsonSchema, value: unknown, pointer = ''): readonly ErrorDetail[] {
  const message = typeProblem(schema, value) ?? enumProblem(schema, value)
  if (message !== undefined) return [{ pointer, message }]
  if (typeof value === 'string') return stringProblems(schema, value, pointer)
  if (typeof value === 'number') return rangeProblems(schema, value, pointer, '')
  if (Array.isArray(value)) return arrayProblems(schema, value, pointer)
  return isRecord(value) ? objectProblems(schema, value, pointer) : []
}

/** The JSON pointer of a member. Source: RFC 6901 §3. */
export function memberPointer(parent: string, key: string | number): string {
  return `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function typeProblem(schema: JsonSchema, value: unknown): string | undefined {
  const types = [schema.type].flat().filter((type) => typeof type === 'string')
  const isFitting = types.length === 0 || types.some((type) => isOfType(type, value))
  return isFitting ? undefined : `must be ${types.join(' or ')}`
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isRecord(value)
  if (type === 'integer') return Number.isSafeInteger(value)
  if (type === 'number') return Number.isFinite(value)
  return typeof value === type
}

function enumProblem(schema: JsonSchema, value: unknown): string | undefined {
  const allowed = schema.enum
  return Array.isArray(allowed) && !allowed.includes(value)
    ? `must be one of ${allowed.join(', ')}`
    : undefined
}

function stringProblems(schema: JsonSchema, value: string, pointer: string): readonly ErrorDetail[] {
  const { pattern, minLength, maxLength } = schema
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value)) {
    return [{ pointer, message: `must match ${pattern}` }]
  }
  return rangeProblems({ minimum: minLength, maximum: maxLength }, [...value].length, pointer, ' characters')
}

function rangeProblems(
  schema: JsonSchema,
  value: number,
  pointer: string,
  unit: string,
): readonly ErrorDetail[] {
  const { minimum, maximum } = schema
  if (typeof minimum === 'number' && value < minimum)
    return [{ pointer, message: `must be at least ${minimum}${unit}` }]
  if (typeof maximum === 'number' && value > maximum)
    return [{ pointer, message: `must be at most ${maximum}${unit}` }]
  return []
}

function arrayProblems(
  schema: JsonSchema,
  value: readonly unknown[],
  pointer: string,
): readonly ErrorDetail[] {
  const { items, minItems, maxItems, uniqueItems } = schema
  const count = rangeProblems({ minimum: minItems, maximum: maxItems }, value.length, pointer, ' items')
  const isRepeating =
    uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length
  const repeats = isRepeating ? [{ pointer, message: 'must not repeat an item' }] : []
  const inner = isRecord(items)
    ? value.flatMap((item, at) => schemaProblems(items, item, memberPointer(pointer, at)))
    : []
  return [...count, ...repeats, ...inner]
}

function objectProblems(
  schema: JsonSchema,
  value: Readonly<Record<string, unknown>>,
  pointer: string,
): readonly ErrorDetail[] {
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const missing = required
    .filter((key) => !Object.hasOwn(value, key))
    .map((key) => ({ pointer: memberPointer(pointer, key), message: 'is required and may not be removed' }))
  const inner = Object.entries(value).flatMap(([key, member]) => {
    const at = memberPointer(pointer, key)
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (isRecord(known)) return schemaProblems(known, member, at)
    return schema.additionalProperties === false ? [{ pointer: at, message: 'is unknown' }] : []
  })
  return [...missing, ...inner]
}
