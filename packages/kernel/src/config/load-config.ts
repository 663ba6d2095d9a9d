import { readFileSync } from 'node:fs'
import { configInvalid, type JsonSchema, type Settings } from '@steeple/contracts'
import { type ConfigTree, dotted, markOf, type Problem, place, pointerOf, valueAt } from './config-tree.ts'
import { applyEnvironment, type Environment, environmentTable, unknownVariables } from './environment.ts'
import { redactUrls } from './redact-url.ts'
import { leavesOf, mergedSchema, type PluginSchema } from './schema-tree.ts'
import { type ConfigSurroundings, semanticProblems, semanticWarnings } from './semantics.ts'
import { systemSurroundings } from './surroundings.ts'
import { validateTree } from './validate.ts'
import { parseConfigText } from './yaml-file.ts'

/** Where the configuration is when no file is named. It may be absent. */
export const DEFAULT_CONFIG_FILE = '/etc/svc/control.yaml'

/** Flags that stand for a key. */
export const FLAG_KEYS = {
  '--listen': 'server.listen',
  '--data-dir': 'server.data_dir',
  '--log-level': 'server.log_level',
} as const

/** The values of flags that were given. */
export type ConfigFlags = Readonly<Partial<Record<keyof typeof FLAG_KEYS, string>>>

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
  const { tree, problems: syntax } = readTree(options)
  const surroundings = { ...systemSurroundings(), ...options.surroundings }
  const plugins = options.extraSchemas ?? []
  const schema = mergedSchema(plugins)
  const first = check(tree, schema, options, surroundings)
  refuse([...syntax, ...(syntax.length > 0 && isUnread(tree) ? [] : first.problems)])
  // Validated against CONFIG_SCHEMA, whose shape `Settings` describes.
  const settings = first.values as unknown as Settings
  const table = environmentTable(schema)
  return {
    settings,
    schema,
    sources: sourcesOf(first.tree, schema),
    warnings: [
      ...unknownVariables(table, options.env, [
        settings.auth.admin_token_env,
        ...(options.knownVariables ?? []),
      ]),
      ...semanticWarnings(settings),
    ],
    pluginConfig: (configPath, own) => {
      const path = configPath.split('.')
      const isKnown = plugins.some(
        (plugin) => plugin.configPath === configPath && plugin.schema !== undefined,
      )
      if (own === undefined || isKnown) return valueAt(first.values, path)
      const others = plugins.filter((plugin) => plugin.configPath !== configPath)
      const again = check(tree, mergedSchema([...others, { configPath, schema: own }]), options, surroundings)
      refuse(again.problems.filter(({ key }) => key === configPath || key.startsWith(`${configPath}.`)))
      return valueAt(again.values, path)
    },
  }
}

interface Checked {
  readonly values: Record<string, unknown>
  readonly problems: readonly Problem[]
  readonly tree: ConfigTree
}

function check(
  file: ConfigTree,
  schema: JsonSchema,
  options: ConfigOptions,
  surroundings: ConfigSurroundings,
): Checked {
  const tree: ConfigTree = { root: structuredClone(file.root), marks: new Map(file.marks) }
  applyEnvironment(tree, environmentTable(schema), options.env)
  applyFlags(tree, options.flags ?? {})
  const { values, problems, broken } = validateTree(tree, schema)
  const meaning = semanticProblems(values, broken, schema, surroundings).map(({ path, message, also }) => {
    const mark = [path, ...also]
      .map((candidate) => ownMark(tree, candidate))
      .find((found) => found !== undefined)
    return { place: mark?.place ?? '', key: dotted(path), message }
  })
  return { values, tree, problems: [...problems, ...meaning] }
}

/** The mark of a value that was set somewhere; undefined for a default. */
function ownMark(tree: ConfigTree, path: readonly (string | number)[]): ReturnType<typeof markOf> {
  return valueAt(tree.root, path) === undefined ? undefined : markOf(tree, path)
}

/** Flags that are given, over everything else. */
function applyFlags(tree: ConfigTree, flags: ConfigFlags): void {
  for (const [flag, key] of Object.entries(FLAG_KEYS)) {
    const value = valueAt(flags, [flag])
    if (value !== undefined) place(tree, key.split('.'), value, { place: flag, keyPlace: flag, kind: 'flag' })
  }
}

function readTree(options: ConfigOptions): {
  readonly tree: ConfigTree
  readonly problems: readonly Problem[]
} {
  const file = options.file ?? DEFAULT_CONFIG_FILE
  const readFile = options.readFile ?? ((path: string) => readFileSync(path, 'utf8'))
  let text = ''
  try {
    text = readFile(file)
  } catch (error) {
    const code = valueAt(error, ['code'])
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR'
    if (!(isAbsent && options.file === undefined)) {
      refuse([
        { place: file, key: '', message: isAbsent ? 'there is no such file' : `cannot be read (${code})` },
      ])
    }
  }
  return parseConfigText(file, text)
}

/** Whether syntax errors left nothing to judge. */
function isUnread(tree: ConfigTree): boolean {
  return tree.marks.size === 0
}

function sourcesOf(tree: ConfigTree, schema: JsonSchema): ReadonlyMap<string, string> {
  return new Map(leavesOf(schema).map(({ path }) => [dotted(path), ownMark(tree, path)?.place ?? 'default']))
}

/** Throws `config_invalid` when there are problems. */
function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const details = problems.map(({ key, message }) => ({
    pointer: pointerOf(key.split('.').filter((segment) => segment !== '')),
    message: redactUrls(message),
  }))
  throw configInvalid(problems.toSorted(byPlace).map(lineOf).join('\n'), { details })
}

/** File problems in the order of the file, then the others as they came. */
function byPlace(a: Problem, b: Problem): number {
  const position = ({ place: where }: Problem): number => {
    const match = /:(\d+):(\d+)$/.exec(where)
    return match === null ? Number.MAX_SAFE_INTEGER : Number(match[1]) * 1e6 + Number(match[2])
  }
  return position(a) - position(b)
}

function lineOf({ place: where, key, message }: Problem): string {
  const subject = key === '' ? message : `${key} ${message}`
  return redactUrls(where === '' ? subject : `${where}: ${subject}`).replaceAll(/[\r\n]+/g, ' ')
}
