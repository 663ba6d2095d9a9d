import type { JsonSchema } from '@steeple/contracts'
import { isSchema } from './schema-text.ts'

/** No text of ours is longer; a longer least length has no example. */
const MOST_CHARS = 64
/** Texts that patterns of ours accept. The first that fits is the example. */
const TEXTS: readonly string[] = [
  'example',
  '2026-11-21T08:00:00.000Z',
  '90d',
  '0a1b2c3d4e5f',
  '7f1c9c7e-41f2-4a0b-9f0e-3f2f3b6a0c55',
  'internet',
  '999990000000001',
  '999-70',
  '99970',
  '999',
  '70',
  '1.0.0',
  '192.0.2.1',
  '192.0.2.0/24',
  'https://example.org/',
  'b3',
  '00112233445566778899aabbccddeeff',
  '9'.repeat(40),
  'a'.repeat(64),
  'a'.repeat(43),
]

/**
 * A value that fits the schema, for people to begin with: what the schema itself gives as an example or default,
 * otherwise the least that is required of requests, everything of answers. Undefined when none is found.
 */
export function exampleOf(schema: JsonSchema, isAnswer: boolean, name = ''): unknown {
  const given = givenBy(schema)
  if (given !== undefined) return given
  const members = schema.anyOf ?? schema.oneOf
  if (Array.isArray(members) && schema.properties === undefined) return firstOf(members, isAnswer, name)
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type
  switch (type ?? (isSchema(schema.properties) ? 'object' : undefined)) {
    case 'object':
      return objectExample(schema, isAnswer)
    case 'array':
      return listExample(schema, isAnswer, name)
    case 'string':
      return textExample(schema, name)
    case 'boolean':
      return true
    case 'integer':
    case 'number':
      return numberExample(schema)
    default:
      return undefined
  }
}

/** What the schema itself names. */
function givenBy({ examples, const: only, default: usual, enum: choices }: JsonSchema): unknown {
  if (Array.isArray(examples) && examples.length > 0) return examples[0]
  return only ?? usual ?? (Array.isArray(choices) ? choices[0] : undefined)
}

function firstOf(members: readonly unknown[], isAnswer: boolean, name: string): unknown {
  const values = members.map((one) => (isSchema(one) ? exampleOf(one, isAnswer, name) : undefined))
  return values.find((value) => value !== undefined && value !== null)
}

function objectExample(schema: JsonSchema, isAnswer: boolean): unknown {
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const example: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(properties)) {
    if (!isAnswer && !required.has(name)) continue
    const given = isSchema(value) ? exampleOf(value, isAnswer, name) : undefined
    if (given !== undefined) example[name] = given
    else if (required.has(name)) return undefined
  }
  return example
}

function listExample(schema: JsonSchema, isAnswer: boolean, name: string): unknown {
  const item = isSchema(schema.items) ? exampleOf(schema.items, isAnswer, name) : undefined
  if (item === undefined) return schema.minItems === undefined || schema.minItems === 0 ? [] : undefined
  const least = typeof schema.minItems === 'number' ? schema.minItems : 1
  return least <= 1 ? [item] : undefined
}

function textExample(schema: JsonSchema, name: string): string | undefined {
  const least = typeof schema.minLength === 'number' ? schema.minLength : 0
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : MOST_CHARS
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern, 'u') : undefined
  const fits = (text: string): boolean =>
    text.length >= least && text.length <= most && pattern?.test(text) !== false
  const isTime = schema.format === 'date-time' || /(^|_)at$|^from$|^to$|^since$/.test(name)
  const first = isTime ? [TEXTS[1] ?? '', ...TEXTS] : TEXTS
  return [...first, 'x'.repeat(least)].find(fits)
}

function numberExample({ minimum, maximum, exclusiveMinimum }: JsonSchema): number {
  const low =
    typeof minimum === 'number' ? minimum : typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : 1
  return typeof maximum === 'number'
    ? Math.min(Math.max(low, Math.min(1, maximum)), maximum)
    : Math.max(low, 1)
}
