import type { JsonSchema } from '@steeple/contracts'
import { dotted, isMap, valueAt } from './config-tree.ts'
import { isGroup, leavesOf, propertiesOf, relationsOf } from './schema-tree.ts'
import type { Section } from './section.ts'

/** What nobody has held the defaults to: the keys and relations of installed plugins. */
export interface Untried {
  /** Keys with dots. */
  readonly keys: ReadonlySet<string>
  readonly relations: ReadonlySet<JsonSchema>
}

/** What is untried of these sections. */
export function untriedOf(sections: readonly Section[]): Untried {
  const schemas = sections.filter(({ origin }) => origin === 'installed').map(({ schema }) => schema ?? {})
  return {
    keys: new Set(schemas.flatMap((schema) => leavesOf(schema).map(({ key }) => key))),
    relations: new Set(schemas.flatMap(relationsOf)),
  }
}

/**
 * The schema for judging `values`: of what is not set only the defaults are left, since a test of the build holds defaults to
 * their schemas and relations, and compiling checks is most of what judging takes. Relations keep their places.
 */
export function schemaOfWhatIsSet(schema: JsonSchema, values: unknown, untried: Untried): JsonSchema {
  const names = new Set([...untried.keys].map((key) => key.split('.', 1)[0]))
  const isAsked = (name: string): boolean => valueAt(values, [name]) !== undefined || names.has(name)
  const allOf = relationsOf(schema).map((relation) => {
    const groups = groupsIn(relation)
    return untried.relations.has(relation) || groups === undefined || groups.some(isAsked) ? relation : {}
  })
  return { ...ofWhatIsSet(schema, values, untried.keys, []), ...(allOf.length === 0 ? {} : { allOf }) }
}

function ofWhatIsSet(
  schema: JsonSchema,
  values: unknown,
  untried: ReadonlySet<string>,
  path: readonly string[],
): JsonSchema {
  const isUnset = valueAt(values, path) === undefined
  if (!isGroup(schema)) {
    const isAsked = !isUnset || schema.default === undefined || isNested(schema) || untried.has(dotted(path))
    return isAsked ? schema : { default: schema.default }
  }
  const inner = Object.entries(propertiesOf(schema)).map(
    ([name, one]) => [name, ofWhatIsSet(one, values, untried, [...path, name])] as const,
  )
  // The group as it is when nothing of it is set: nothing is left to check in it.
  if (isUnset && inner.every(([, one]) => isDefault(one)))
    return { default: Object.fromEntries(inner.map(([name, one]) => [name, one.default])) }
  return { ...schema, properties: Object.fromEntries(inner) }
}

function isDefault(schema: JsonSchema): boolean {
  const [name, ...others] = Object.keys(schema)
  return name === 'default' && others.length === 0
}

/** Whether defaults stand deeper in the value that a key has when it is not set. */
function isNested({ default: value, ...said }: JsonSchema): boolean {
  if (typeof value !== 'object' || value === null) return false
  const hasRoom = !Array.isArray(value) || value.some((one) => typeof one === 'object')
  return hasRoom && Object.values(said).some(holdsDefault)
}

function holdsDefault(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return Object.hasOwn(schema, 'default') || Object.values(schema).some(holdsDefault)
}

/** Keywords of a relation that hold schemas for the same value. */
const INNER: ReadonlySet<string> = new Set(['if', 'then', 'else', 'not', 'allOf', 'anyOf', 'oneOf'])
/** Keywords that check nothing. */
const SAID: ReadonlySet<string> = new Set(['description', 'x-allowed', 'x-warning'])

/** The groups and keys at the root of the configuration that a relation speaks of; undefined when it cannot be told. */
function groupsIn(relation: unknown): readonly string[] | undefined {
  if (!isMap(relation)) return undefined
  return together(
    Object.entries(relation).map(([keyword, value]) => {
      if (SAID.has(keyword)) return []
      if (keyword === 'properties' && isMap(value)) return Object.keys(value)
      if (keyword === 'required' && Array.isArray(value)) return value.map(String)
      return INNER.has(keyword) ? together([value].flat().map(groupsIn)) : undefined
    }),
  )
}

function together(parts: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const known = parts.filter((part) => part !== undefined)
  return known.length === parts.length ? known.flat() : undefined
}
