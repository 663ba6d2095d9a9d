import type { JsonSchema } from '@steeple/contracts'

const GROWS = 'More values may be added within v1: treat an unknown one as something new, not as an error.'

/** A response schema with a word to clients at each enumeration: it may grow (contract section 2). */
export function responseSchema(schema: JsonSchema): JsonSchema {
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) copy[keyword] = copied(keyword, value)
  if (!Array.isArray(schema.enum)) return copy
  const { description } = schema
  return {
    ...copy,
    description: typeof description === 'string' ? `${description} ${GROWS}` : GROWS,
    'x-growable': true,
  }
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

function copied(keyword: string, value: unknown): unknown {
  if (NAMED.has(keyword) && isSchema(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, nested(member)]))
  }
  return NESTED.has(keyword) ? nested(value) : value
}

function nested(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nested)
  return isSchema(value) ? responseSchema(value) : value
}

/** Whether a value is a schema object (a schema may be a boolean too, which has nothing to say). */
export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
