import { type JsonSchema, SERVICE_CONFIG, SERVICE_METRICS, type Settings } from '@steeple/contracts'
import { schemaOfWhatIsSet, untriedOf } from './asked-schema.ts'
import { refuse } from './config-error.ts'
import { applyFlags, type ConfigFlags, readConfigFile } from './config-sources.ts'
import { type ConfigTree, markOf, type Problem, valueAt } from './config-tree.ts'
import { applyEnvironment, type Environment, environmentTable, unknownVariables } from './environment.ts'
import { type ConfigSurroundings, formsOf, systemSurroundings } from './forms.ts'
import { absentFeatures, takeAbsent, takeStrayed } from './left-over.ts'
import { leavesOf, mergedSchema, ownerOf, relationOwner } from './schema-tree.ts'
import { inOrder, type Section } from './section.ts'
import { type SchemaCompiler, validateTree } from './validate.ts'
import type { ParsedFile } from './yaml-file.ts'

/** What `loadConfig` reads from. */
export interface ConfigOptions {
  /** A file that was named and must be there; `DEFAULT_CONFIG_FILE` when absent, which need not. */
  readonly file?: string
  readonly env: Environment
  readonly flags?: ConfigFlags
  /** The plugins' parts: see `findSections`. */
  readonly sections?: readonly Section[]
  /** Variables beyond the table that something reads, so that they are not called unknown. */
  readonly knownVariables?: readonly string[]
  /** Reads a text file; throws as `readFileSync` does. */
  readonly readFile?: (path: string) => string
  /** What the checks look at outside the configuration; the machine's own by default. */
  readonly surroundings?: Partial<ConfigSurroundings>
  /** `createSchemaCompiler` for a process that reads its configuration more than once. */
  readonly compile?: SchemaCompiler
}

/** A configuration that passed every check but those of installed plugins, which cost nobody else anything. */
export interface LoadedConfig {
  readonly settings: Settings
  /** The schema that it was checked against, plugins' included. */
  readonly schema: JsonSchema
  readonly sections: readonly Section[]
  /** What is wrong with the keys of an installed plugin. */
  problemsOf(plugin: string): readonly Problem[]
  /** The same file, variables and flags, judged with other parts of plugins. Throws `config_invalid`. */
  withSections(sections: readonly Section[]): LoadedConfig
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
  return judge(readConfigFile(options.file, options.readFile), options, options.sections ?? [])
}

function judge(file: ParsedFile, options: ConfigOptions, sections: readonly Section[]): LoadedConfig {
  const surroundings = { ...systemSurroundings(), ...options.surroundings }
  const schema = mergedSchema(sections)
  const tree = completed(file.tree, schema, options)
  const strayed = [...takeAbsent(tree, schema, sections), ...takeStrayed(tree, schema)]
  const metrics = [...SERVICE_METRICS, ...sections.flatMap((section) => section.metrics)]
  const { values, problems, odd } = validateTree(
    tree,
    { whole: schema, asked: schemaOfWhatIsSet(schema, tree.root, untriedOf(sections)) },
    formsOf(surroundings, metrics),
    options.compile,
  )
  // Validated against the schemas, whose shape `Settings` describes.
  const settings = values as unknown as Settings
  const absent = absentFeatures(tree, values, inOrder(sections))
  const held = new Map<string, Problem[]>()
  const own: Problem[] = []
  for (const problem of problems) {
    const owner = ownerOfProblem(problem, sections)
    if (owner?.origin === 'installed') held.set(owner.plugin, [...(held.get(owner.plugin) ?? []), problem])
    else own.push(problem)
  }
  // A file that is no YAML left nothing to judge.
  const isUnread = file.problems.length > 0 && file.tree.marks.size === 0
  const judged = isUnread ? [] : [...own, ...absent.problems]
  const isSound = file.problems.length === 0 && judged.length === 0
  refuse([...file.problems, ...judged, ...(isSound ? keyProblems(tree, settings, surroundings) : [])])
  return {
    settings,
    schema,
    sections,
    problemsOf: (plugin) => held.get(plugin) ?? [],
    withSections: (next) => judge(file, options, next),
    sources: new Map(
      leavesOf(schema).map(({ path, key }) => [
        key,
        valueAt(tree.root, path) === undefined ? 'default' : (markOf(tree, path)?.place ?? 'default'),
      ]),
    ),
    warnings: [
      ...unknownVariables(environmentTable(schema), options.env, [
        settings.auth.admin_token_env,
        ...(options.knownVariables ?? []),
      ]),
      ...[...strayed, ...absent.warnings, ...odd].map(
        ({ place, key, message }) => `${place === '' ? '' : `${place}: `}${key} ${message}`,
      ),
    ],
  }
}

function ownerOfProblem({ key, relation }: Problem, sections: readonly Section[]): Section | undefined {
  return relation === undefined ? ownerOf(sections, key.split('.')) : relationOwner(sections, relation)
}

/** The rules that look at files. */
function keyProblems(
  tree: ConfigTree,
  { tls, server }: Settings,
  surroundings: ConfigSurroundings,
): readonly Problem[] {
  const problem = (key: string, message: string): Problem => ({
    place: markOf(tree, key.split('.'))?.place ?? '',
    key,
    message,
  })
  if (!tls.enabled) return []
  if (!surroundings.hasNodeKeys(server.data_dir)) {
    const message = `needs the node's keys, and ${server.data_dir}/keys has none; run svc node init`
    return [problem('tls.enabled', message)]
  }
  const { cert_file, key_file } = tls
  if (cert_file === '' && key_file === '') return []
  if (cert_file === '')
    return [problem('tls.cert_file', 'is the certificate of tls.key_file: set both, or neither')]
  if (key_file === '') return [problem('tls.key_file', 'is the key of tls.cert_file: set both, or neither')]
  const wrong = surroundings.certificateProblem(cert_file, key_file)
  return wrong === undefined ? [] : [problem(`tls.${wrong.file}`, wrong.message)]
}

/** What file, variables and flags set for a key of the service's own, before any check. */
export function unchecked(options: ConfigOptions, path: readonly string[]): unknown {
  const { tree } = readConfigFile(options.file, options.readFile)
  return valueAt(completed(tree, SERVICE_CONFIG, options).root, path)
}

/** The file's tree with the variables and flags over it. */
function completed(file: ConfigTree, schema: JsonSchema, options: ConfigOptions): ConfigTree {
  const tree: ConfigTree = { root: structuredClone(file.root), marks: new Map(file.marks) }
  applyEnvironment(tree, environmentTable(schema), options.env)
  applyFlags(tree, options.flags ?? {})
  return tree
}
