import { CONFIG_SCHEMA, type JsonSchema, type Settings } from '@steeple/contracts'
import { refuse } from './config-error.ts'
import { applyFlags, type ConfigFlags, readConfigFile } from './config-sources.ts'
import {
  type ConfigTree,
  dotted,
  type Mark,
  markOf,
  type Problem,
  type Segment,
  valueAt,
} from './config-tree.ts'
import {
  applyEnvironment,
  type Environment,
  environmentTable,
  unknownVariables,
  variablePrefix,
} from './environment.ts'
import { leavesOf, mergedSchema, type PluginSchema, schemaWithin } from './schema-tree.ts'
import type { ConfigSurroundings } from './semantic-checks.ts'
import { durationProblems, type SemanticProblem, semanticProblems, semanticWarnings } from './semantics.ts'
import { systemSurroundings } from './surroundings.ts'
import { type Validated, validateTree } from './validate.ts'

/** What `loadConfig` reads from. */
export interface ConfigOptions {
  /** A file that was named and must be there; `DEFAULT_CONFIG_FILE` when absent, which need not. */
  readonly file?: string
  readonly env: Environment
  readonly flags?: ConfigFlags
  /** Configurations of plugins that the service's schema does not know. */
  readonly extraSchemas?: readonly PluginSchema[]
  /** Variables beyond the table that something reads, so that they are not called unknown. */
  readonly knownVariables?: readonly string[]
  /** Reads a text file; throws as `readFileSync` does. */
  readonly readFile?: (path: string) => string
  /** What the semantic checks look at outside the configuration; the machine's own by default. */
  readonly surroundings?: Partial<ConfigSurroundings>
}

/** A configuration that passed every check. */
export interface LoadedConfig {
  readonly settings: Settings
  /** The schema that it was checked against, plugins' included. */
  readonly schema: JsonSchema
  /**
   * The configuration at a plugin's path, validated, defaults filled in. `schema` is needed for a plugin that
   * was not in `extraSchemas` with one. Throws `config_invalid`.
   */
  pluginConfig(configPath: string, schema?: JsonSchema): unknown
  /** A line for each variable under a plugin's path that its schema does not name, once that is known. */
  pluginWarnings(configPath: string, schema: JsonSchema): readonly string[]
  /** For every key: `default`, `file:line:column`, a variable or a flag. */
  readonly sources: ReadonlyMap<string, string>
  /** What is odd but works, one line each. */
  readonly warnings: readonly string[]
}

/**
 * Reads the configuration: flag before environment before file before default.
 *
 * Throws `config_invalid` with one line per problem (place, key, what is allowed); `details` hold the same with
 * JSON pointers.
 */
export function loadConfig(options: ConfigOptions): LoadedConfig {
  const file = readConfigFile(options.file, options.readFile)
  const surroundings = { ...systemSurroundings(), ...options.surroundings }
  const plugins = options.extraSchemas ?? []
  const schema = mergedSchema(plugins)
  const tree = completed(file.tree, schema, options)
  const { values, problems, broken } = validateTree(tree, schema)
  const odd = semanticProblems(values, broken, schema, surroundings)
  // A file that is no YAML left nothing to judge.
  const isUnread = file.problems.length > 0 && file.tree.marks.size === 0
  refuse([...file.problems, ...(isUnread ? [] : [...problems, ...located(tree, odd)])])
  // Validated against CONFIG_SCHEMA, whose shape `Settings` describes.
  const settings = values as unknown as Settings
  const known = [settings.auth.admin_token_env, ...(options.knownVariables ?? [])]
  // What these plugins read is known when they are loaded.
  const later = plugins.filter((one) => one.schema === undefined).map((one) => variablePrefix(one.configPath))
  const isLater = (name: string): boolean => later.some((prefix) => name.startsWith(prefix))
  return {
    settings,
    schema,
    sources: new Map(
      leavesOf(schema).map(({ path }) => [dotted(path), ownMark(tree, path)?.place ?? 'default']),
    ),
    warnings: [
      ...unknownVariables(
        environmentTable(schema),
        only(options.env, (name) => !isLater(name)),
        known,
      ),
      ...semanticWarnings(settings),
    ],
    pluginWarnings: (configPath, own) => {
      const prefix = variablePrefix(configPath)
      const part = schemaWithin(plugins, { configPath, schema: own })
      if (part === undefined || !later.includes(prefix)) return []
      const mine = only(options.env, (name) => name.startsWith(prefix))
      return unknownVariables(environmentTable(part), mine, known)
    },
    pluginConfig: (configPath, own) => {
      const path = configPath.split('.')
      const part = schemaWithin(plugins, { configPath, ...(own === undefined ? {} : { schema: own }) })
      if (part === undefined) return valueAt(values, path)
      const partTree = completed(file.tree, part, options)
      const partly: Validated = validateTree(partTree, part)
      const durations = durationProblems(partly.values, partly.broken, part)
      refuse([...partly.problems, ...located(partTree, durations)])
      return valueAt(partly.values, path)
    },
  }
}

function only(env: Environment, isWanted: (name: string) => boolean): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => isWanted(name)))
}

/** What file, variables and flags set for a key of the service's own schema, before any check. */
export function unchecked(options: ConfigOptions, path: readonly string[]): unknown {
  const { tree } = readConfigFile(options.file, options.readFile)
  return valueAt(completed(tree, CONFIG_SCHEMA, options).root, path)
}

/** The file's tree with the variables and flags over it. */
function completed(file: ConfigTree, schema: JsonSchema, options: ConfigOptions): ConfigTree {
  const tree: ConfigTree = { root: structuredClone(file.root), marks: new Map(file.marks) }
  applyEnvironment(tree, environmentTable(schema), options.env)
  applyFlags(tree, options.flags ?? {})
  return tree
}

/** Problems of meaning with their places: the value's own, or that of a key that may have caused it. */
function located(tree: ConfigTree, problems: readonly SemanticProblem[]): readonly Problem[] {
  return problems.map(({ path, message, also }) => {
    const marks = [path, ...also].map((candidate) => ownMark(tree, candidate))
    const place = marks.find((mark) => mark !== undefined)?.place ?? ''
    return { place, key: dotted(path), message }
  })
}

/** The mark of a value that was set somewhere; undefined for a default. */
function ownMark(tree: ConfigTree, path: readonly Segment[]): Mark | undefined {
  return valueAt(tree.root, path) === undefined ? undefined : markOf(tree, path)
}
