import { type Apply, type EnvOverride, type JsonSchema, SERVICE_CONFIG } from '@steeple/contracts'
import { dotted, isMap } from './config-tree.ts'
import { inOrder, type Section } from './section.ts'

/** One key of the configuration: what stands under `properties` and carries a value of its own. */
export interface Leaf {
  readonly path: readonly string[]
  /** The path with dots. */
  readonly key: string
  readonly schema: JsonSchema
  readonly apply: Apply
  readonly env: EnvOverride | undefined
}

/** The properties of an object schema. */
export function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  const properties = schema.properties
  // A schema's `properties` is a map of schemas by its own definition.
  return isMap(properties) ? (properties as Readonly<Record<string, JsonSchema>>) : {}
}

/** Whether a schema is a group of keys rather than a value (a value may be an object: `ran.profiles`). */
export function isGroup(schema: JsonSchema): boolean {
  return isMap(schema.properties) && schema['x-apply'] === undefined && schema['x-env'] === undefined
}

/** What has been made of a schema or of sections, neither of which changes: a check asks for it many times. */
const leaves = new WeakMap<JsonSchema, readonly Leaf[]>()
const merged = new WeakMap<readonly Section[], JsonSchema>()

/** Every key of a schema in its order. */
export function leavesOf(schema: JsonSchema): readonly Leaf[] {
  const known = leaves.get(schema)
  if (known !== undefined) return known
  const found = leavesBelow(schema, [])
  leaves.set(schema, found)
  return found
}

function leavesBelow(schema: JsonSchema, path: readonly string[]): readonly Leaf[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, inner]) => {
    const here = [...path, name]
    if (isGroup(inner)) return leavesBelow(inner, here)
    // The two keywords are ours; `schemaProblem` looks at their form.
    const apply = (inner['x-apply'] as Apply | undefined) ?? 'reload'
    const env = inner['x-env'] as EnvOverride | undefined
    return [{ path: here, key: dotted(here), schema: inner, apply, env }]
  })
}

/** The schema of everything: the service's own and those of plugins. What came first keeps a key. */
export function mergedSchema(sections: readonly Section[]): JsonSchema {
  const known = merged.get(sections)
  if (known !== undefined) return known
  const schemas = [SERVICE_CONFIG, ...inOrder(sections).map(({ schema }) => schema ?? {})]
  const together = schemas.reduce<JsonSchema>(union, { type: 'object', properties: {} })
  const schema = { ...chosen(grouped(together), sections, []), allOf: schemas.flatMap(relationsOf) }
  merged.set(sections, schema)
  return schema
}

/** Whose relation an index of the merged `allOf` is; undefined for the service's own. */
export function relationOwner(sections: readonly Section[], index: number): Section | undefined {
  let first = relationsOf(SERVICE_CONFIG).length
  for (const section of inOrder(sections)) {
    const next = first + relationsOf(section.schema ?? {}).length
    if (index >= first && index < next) return section
    first = next
  }
  return undefined
}

/** The plugin whose key lies at a path or above it; undefined for the service's own. */
export function ownerOf(sections: readonly Section[], path: readonly string[]): Section | undefined {
  const ranked = inOrder(sections).map((section) => ({ section, depth: depthIn(section.schema, path) }))
  return ranked.reduce<(typeof ranked)[number] | undefined>(
    (best, one) => (one.depth > (best?.depth ?? depthIn(SERVICE_CONFIG, path)) ? one : best),
    undefined,
  )?.section
}

function depthIn(schema: JsonSchema | undefined, path: readonly string[]): number {
  const [name, ...rest] = path
  const properties = propertiesOf(schema ?? {})
  return name === undefined || !Object.hasOwn(properties, name) ? 0 : 1 + depthIn(properties[name], rest)
}

/** A key that two plugins claim, or of which one claims what lies above it: of `section` and of one that came before it. */
export function claimedTwice(section: Section, others: readonly Section[]): string | undefined {
  const keys = leavesOf(section.schema ?? {}).map(({ path }) => `${path.join('.')}.`)
  const isClaimed = (key: string): boolean => keys.some((own) => key.startsWith(own) || own.startsWith(key))
  for (const { plugin, schema } of others) {
    if (plugin === section.plugin) continue
    const twice = leavesOf(schema ?? {}).find(({ path }) => isClaimed(`${path.join('.')}.`))
    if (twice !== undefined) return `the key ${twice.path.join('.')} belongs to ${plugin}`
  }
  return undefined
}

/** Keys that choose a driver (`x-selects`) take the names that plugins which are here have for themselves. */
function chosen(schema: JsonSchema, sections: readonly Section[], path: readonly string[]): JsonSchema {
  if (schema['x-selects'] === true) {
    const key = path.join('.')
    const names = sections.flatMap(({ origin, selects }) =>
      origin !== 'known' && selects?.key === key ? selects.values : [],
    )
    // The default stays one when a build goes without that driver: what is missing then is told by its health.
    return names.length === 0 ? schema : { ...schema, enum: [...new Set([...names, schema.default])] }
  }
  if (!isGroup(schema)) return schema
  const properties = Object.entries(propertiesOf(schema)).map(([name, inner]) => [
    name,
    chosen(inner, sections, [...path, name]),
  ])
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** The relations between keys that a schema has at its root. */
export function relationsOf(schema: JsonSchema): readonly JsonSchema[] {
  return Array.isArray(schema.allOf) ? schema.allOf : []
}

function union(mine: JsonSchema, theirs: JsonSchema): JsonSchema {
  if (!isGroup(mine) || !isGroup(theirs)) return mine
  const properties = { ...propertiesOf(mine) }
  for (const [name, inner] of Object.entries(propertiesOf(theirs)))
    properties[name] = properties[name] === undefined ? inner : union(properties[name], inner)
  // Nobody can require what another one's key is, or what is no key at all: that would cost the other one.
  const isTheirs = (name: unknown): boolean =>
    Object.hasOwn(propertiesOf(theirs), String(name)) && !Object.hasOwn(propertiesOf(mine), String(name))
  const required = [...listOf(mine.required), ...listOf(theirs.required).filter(isTheirs)]
  return { ...mine, properties, ...(required.length === 0 ? {} : { required }) }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Groups know their keys and are there even when nothing of them is set: what they require is asked for. */
function grouped(schema: JsonSchema): JsonSchema {
  if (!isGroup(schema)) return schema
  const properties = Object.entries(propertiesOf(schema)).map(([name, inner]) => [
    name,
    isGroup(inner) ? { ...grouped(inner), default: {} } : inner,
  ])
  return { ...schema, additionalProperties: false, properties: Object.fromEntries(properties) }
}
