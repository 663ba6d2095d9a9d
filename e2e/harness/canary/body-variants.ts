import fc from 'fast-check'
import { isObject, valuesOf } from '../fuzz/values.ts'
import type { Json } from '../openapi.ts'

/** A body that holds a text in one of its places. */
export interface Variant {
  readonly body: unknown
  /** The property, dotted. */
  readonly place: string
  /** Whether the schema of that place takes the text. */
  readonly isAccepted: boolean
}

/** Bodies that fit the schema but for one place each, which holds the text: every place of the schema in turn. */
export function variantsOf(schema: Json, text: string): readonly Variant[] {
  if (schema.type === 'object' || (Array.isArray(schema.type) && schema.type.includes('object'))) {
    return objectVariants(schema, text)
  }
  if (schema.type === 'array') {
    const items = isObject(schema.items) ? schema.items : {}
    return variantsOf(items, text).map(({ body, place, isAccepted }) => ({
      body: [body],
      place: `[].${place}`,
      isAccepted,
    }))
  }
  return [{ body: text, place: '', isAccepted: accepts(schema, text) }]
}

function objectVariants(schema: Json, text: string): readonly Variant[] {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const base = baseOf(schema)
  const variants = Object.entries(properties).flatMap(([name, inner]) =>
    variantsOf(inner as Json, text).map(({ body, place, isAccepted }) => ({
      body: { ...base, [name]: body },
      place: place === '' ? name : `${name}.${place}`,
      isAccepted,
    })),
  )
  if (!isObject(schema.additionalProperties)) {
    return [
      ...variants,
      { body: { ...base, unknown_property: text }, place: 'unknown_property', isAccepted: false },
    ]
  }
  const inner = variantsOf(schema.additionalProperties, text)
  return [
    ...variants,
    ...inner.map((one) => ({ ...one, body: { ...base, member: one.body }, place: `member.${one.place}` })),
  ]
}

/** The required properties, fitting. The same at each call. */
function baseOf(schema: Json): Record<string, unknown> {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const properties = isObject(schema.properties) ? schema.properties : {}
  return Object.fromEntries(
    required.map((name) => [
      name,
      fc.sample(valuesOf((properties[name] ?? {}) as Json), { numRuns: 1, seed: 7 })[0],
    ]),
  )
}

/** Whether a schema takes a text as far as its type, length, pattern and list of values say. */
export function accepts(schema: Json, text: string): boolean {
  const types = schema.type === undefined ? ['string'] : [schema.type].flat()
  if (!types.includes('string')) return false
  if (Array.isArray(schema.enum)) return schema.enum.includes(text)
  if (schema.format !== undefined) return false
  if (typeof schema.maxLength === 'number' && text.length > schema.maxLength) return false
  return typeof schema.pattern !== 'string' || new RegExp(schema.pattern, 'u').test(text)
}
