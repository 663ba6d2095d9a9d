import type { JsonSchema } from '@steeple/contracts'

const GROWS = 'More values may be added within v1: treat an unknown one as something new, not as an error.'

type Change = (schema: JsonSchema) => JsonSchema

/** A response schema with a word to clients at each enumeration: it may grow (contract section 2). */
export function responseSchema(schema: JsonSchema): JsonSchema {
  return mapped(schema, (one) => growing(portable(one)))
}

/** A request schema as foreign programs read it. */
export function requestSchema(schema: JsonSchema): JsonSchema {
  return mapped(schema, portable)
}

/** Without a pattern of Unicode classes, which regular expressions of Python, Go and Rust have in other forms or not at all. */
function portable({ pattern, ...rest }: JsonSchema): JsonSchema {
  const isForeign = typeof pattern === 'string' && /\\p\{/.test(pattern)
  return pattern === undefined || isForeign ? rest : { ...rest, pattern }
}

function growing(schema: JsonSchema): JsonSchema {
  if (!Array.isArray(schema.enum)) return schema
  const { description } = schema
  return {
    ...schema,
    description: typeof description === 'string' ? `${description} ${GROWS}` : GROWS,
    'x-growable': true,
  }
}

function mapped(schema: JsonSchema, change: Change): JsonSchema {
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) copy[keyword] = copied(keyword, value, change)
  return change(copy)
}

/** Keywords whose members are schemas by name. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])
/** Keywords that hold one schema or several. */
const NESTED = new Set([
  'items',
  'prefixItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedProperties',
])

function copied(keyword: string, value: unknown, change: Change): unknown {
  if (NAMED.has(keyword) && isSchema(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, nested(member, change)]))
  }
  return NESTED.has(keyword) ? nested(value, change) : value
}

function nested(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((one) => nested(one, change))
  return isSchema(value) ? mapped(value, change) : value
}

/** Whether a value is a schema object (a schema may be a boolean too, which has nothing to say). */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
