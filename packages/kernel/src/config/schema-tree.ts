import { type Apply, CONFIG_SCHEMA, type EnvOverride, type JsonSchema } from '@steeple/contracts'
import { isMap } from './config-tree.ts'

/** The configuration of a plugin that `CONFIG_SCHEMA` does not know. Without `schema` anything may stand there. */
export interface PluginSchema {
  /** Dotted path of the plugin's configuration. */
  readonly configPath: string
  readonly schema?: JsonSchema
}

/** One key of the configuration: what stands under `properties` and carries a value of its own. */
export interface Leaf {
  readonly path: readonly string[]
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
function isGroup(schema: JsonSchema): boolean {
  return isMap(schema.properties) && schema['x-apply'] === undefined && schema['x-env'] === undefined
}

/** Every key of a schema in its order. */
export function leavesOf(schema: JsonSchema, path: readonly string[] = []): readonly Leaf[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, inner]) => {
    const here = [...path, name]
    if (isGroup(inner)) return leavesOf(inner, here)
    // The two keywords are ours; their schemas are checked when a plugin is loaded.
    const apply = (inner['x-apply'] as Apply | undefined) ?? 'reload'
    const env = inner['x-env'] as EnvOverride | undefined
    return [{ path: here, schema: inner, apply, env }]
  })
}

/** The schema of everything: the service's own and those of plugins, each at its path. What exists already wins. */
export function mergedSchema(plugins: readonly PluginSchema[]): JsonSchema {
  let merged = CONFIG_SCHEMA
  for (const plugin of plugins) {
    const addition: JsonSchema = plugin.schema === undefined ? { 'x-apply': 'reload' } : plugin.schema
    merged = withSchemaAt(merged, plugin.configPath.split('.'), addition)
  }
  return merged
}

/**
 * The schema of one plugin's path alone, for a plugin that brings its schema when it is loaded; undefined when the
 * merged schema knows all of its keys already.
 */
export function schemaWithin(plugins: readonly PluginSchema[], plugin: PluginSchema): JsonSchema | undefined {
  if (plugin.schema === undefined) return undefined
  const path = plugin.configPath.split('.')
  const before = schemaAt(mergedSchema(plugins), path)
  const others = plugins.filter(({ configPath }) => configPath !== plugin.configPath)
  const now = schemaAt(mergedSchema([...others, plugin]), path)
  const known = new Set(before === undefined ? [] : leavesOf(before).map((leaf) => leaf.path.join('.')))
  const isKnown = leavesOf(plugin.schema).every((leaf) => known.has(leaf.path.join('.')))
  if (before !== undefined && isMap(before.properties) && isKnown) return undefined
  return path.reduceRight<JsonSchema>(
    (inner, name) => ({ type: 'object', default: {}, properties: { [name]: inner } }),
    now ?? {},
  )
}

function schemaAt(schema: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let found: JsonSchema | undefined = schema
  for (const name of path) {
    const properties: Readonly<Record<string, JsonSchema>> = propertiesOf(found ?? {})
    found = Object.hasOwn(properties, name) ? properties[name] : undefined
  }
  return found
}

function withSchemaAt(schema: JsonSchema, path: readonly string[], addition: JsonSchema): JsonSchema {
  const [name, ...rest] = path
  if (name === undefined) return union(schema, addition)
  const properties = propertiesOf(schema)
  const inner = Object.hasOwn(properties, name) ? properties[name] : undefined
  const next =
    rest.length > 0
      ? withSchemaAt(inner ?? emptyGroup(), rest, addition)
      : inner === undefined
        ? withDefault(addition)
        : union(inner, addition)
  return { ...schema, properties: { ...properties, [name]: next } }
}

function emptyGroup(): JsonSchema {
  return { type: 'object', additionalProperties: false, default: {}, properties: {} }
}

/** An absent map gets the defaults of its keys, unless something in it is required. */
function withDefault(schema: JsonSchema): JsonSchema {
  const isPlainMap = isMap(schema.properties) && schema.default === undefined && schema.required === undefined
  return isPlainMap ? { ...schema, default: {} } : schema
}

function union(mine: JsonSchema, theirs: JsonSchema): JsonSchema {
  if (!isMap(mine.properties) || !isMap(theirs.properties)) return mine
  return { ...mine, properties: { ...propertiesOf(theirs), ...propertiesOf(mine) } }
}
