import { type Child, h, prose } from '../dom.ts'
import { type Json, objectOf } from './operations.ts'

/** So many levels are open at first; deeper ones open on request. */
const OPEN_LEVELS = 1

/** The properties of an object schema, one below the other. */
export function schemaView(schema: Json, level = 0): HTMLElement | undefined {
  const inner = containerOf(schema)
  const required = new Set(Array.isArray(inner.required) ? inner.required : [])
  const entries = Object.entries(objectOf(inner.properties))
  if (entries.length === 0) return undefined
  return h(
    'dl',
    { class: 'fields' },
    entries.map(([name, value]) => fieldView(name, objectOf(value), required.has(name), level)),
  )
}

/** One named value: a property, or a parameter of the URL. */
export function fieldView(
  name: string,
  schema: Json,
  isRequired: boolean,
  level: number,
  note = '',
): HTMLElement {
  const inner = schemaView(schema, level + 1)
  const description = note === '' ? schema.description : note
  return h(
    'div',
    {},
    h('dt', {}, h('code', {}, name), isRequired ? h('small', { class: 'must' }, 'required') : undefined),
    h(
      'dd',
      {},
      h('span', { class: 'type' }, typeText(schema)),
      typeof description === 'string' ? h('div', {}, prose(description)) : undefined,
      inner === undefined
        ? undefined
        : h('details', level < OPEN_LEVELS ? { open: true } : {}, h('summary', {}, 'its fields'), inner),
    ),
  )
}

/** The object schema inside lists and alternatives. */
function containerOf(schema: Json): Json {
  if (schema.properties !== undefined) return schema
  if (schema.items !== undefined) return containerOf(objectOf(schema.items))
  for (const key of ['anyOf', 'oneOf', 'allOf']) {
    const members = schema[key]
    if (!Array.isArray(members)) continue
    const found = members.map((one) => containerOf(objectOf(one))).find((one) => one.properties !== undefined)
    if (found !== undefined) return found
  }
  return schema
}

/** Type and bounds in a few words: `integer, 1 to 1000, default 1`. */
export function typeText(schema: Json): string {
  const parts = [baseType(schema), ...boundsOf(schema)]
  if (schema.default !== undefined) parts.push(`default ${JSON.stringify(schema.default)}`)
  return parts.filter((part) => part !== '').join(', ')
}

function baseType(schema: Json): string {
  if (schema.const !== undefined) return `always ${JSON.stringify(schema.const)}`
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map((one) => JSON.stringify(one)).join(' ')}`
  for (const key of ['anyOf', 'oneOf']) {
    const members = schema[key]
    if (Array.isArray(members))
      return [...new Set(members.map((one) => baseType(objectOf(one))))].join(' or ')
  }
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  const named = types
    .filter((type) => type !== undefined)
    .map((type) => (type === 'array' ? listType(schema) : String(type)))
  return named.join(' or ')
}

function listType(schema: Json): string {
  return `list of ${baseType(objectOf(schema.items)) || 'values'}`
}

function boundsOf(schema: Json): readonly string[] {
  const range = (low: unknown, high: unknown, unit: string): string[] => {
    if (low === undefined && high === undefined) return []
    if (low !== undefined && low === high) return [`${low}${unit}`]
    if (high === undefined) return [`from ${low}${unit}`]
    return [low === undefined ? `up to ${high}${unit}` : `${low} to ${high}${unit}`]
  }
  return [
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' items'),
    ...(typeof schema.pattern === 'string' && schema.pattern.length <= 60 ? [`like ${schema.pattern}`] : []),
    ...(typeof schema.format === 'string' ? [schema.format] : []),
  ]
}

/** A heading and what belongs under it; nothing when there is nothing. */
export function part(title: string, ...content: readonly Child[]): Child {
  return content.every((one) => one === undefined) ? undefined : [h('h4', {}, title), ...content]
}
