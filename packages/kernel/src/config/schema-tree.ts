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
