import {
  isServiceError,
  type JsonSchema,
  SERVICE_CONFIG,
  SERVICE_METRICS,
  type Settings,
} from '@steeple/contracts'
import { lineOf, refuse } from './config-error.ts'
import { applyFlags, type ConfigFlags, readConfigFile } from './config-sources.ts'
import { type ConfigTree, dotted, isMap, markOf, type Problem, valueAt } from './config-tree.ts'
import { closest } from './did-you-mean.ts'
import { applyEnvironment, type Environment, environmentTable, unknownVariables } from './environment.ts'
import { type ConfigSurroundings, formsOf, systemSurroundings } from './forms.ts'
import {
  isGroup,
  leavesOf,
  mergedSchema,
  ownerOf,
  propertiesOf,
  relationOwner,
  relationsOf,
} from './schema-tree.ts'
import { inOrder, type Section } from './section.ts'
import { type SchemaCompiler, validateTree } from './validate.ts'
import type { ParsedFile } from './yaml-file.ts'

/** What `svc config check` prints. */
interface ConfigReport {
  readonly isValid: boolean
  /** One line per problem, else `ok`; then one per warning. */
  readonly lines: readonly string[]
  /** Of a configuration that could be read: the network that it makes. */
  readonly network?: Pick<Settings, 'plmn' | 'tac'>
}

/** Loads a configuration and reports instead of throwing; what is wrong with keys of installed plugins too. */
export function checkConfig(options: ConfigOptions): ConfigReport {
  try {
    const { settings, warnings, sections, problemsOf } = loadConfig(options)
    const plugins = new Set(sections.map(({ plugin }) => plugin))
    const wrong = [...plugins].flatMap((plugin) => problemsOf(plugin)).map(lineOf)
    const odd = warnings.map((warning) => `warning: ${warning}`)
    const lines = [...(wrong.length === 0 ? ['ok'] : wrong), ...odd]
    return { isValid: wrong.length === 0, lines, network: { plmn: settings.plmn, tac: settings.tac } }
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'config_invalid') throw error
    return { isValid: false, lines: error.message.split('\n') }
  }
}

/** What nobody has held the defaults to: the keys and relations of installed plugins. */
interface Untried {
  /** Keys with dots. */
  readonly keys: ReadonlySet<string>
  readonly relations: ReadonlySet<JsonSchema>
}

/** What is untried of these sections. */
function untriedOf(sections: readonly Section[]): Untried {
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
function schemaOfWhatIsSet(schema: JsonSchema, values: unknown, untried: Untried): JsonSchema {
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
    formsOf(
      surroundings,
      metrics,
      sections.flatMap(({ rules }) => rules),
      // A plugin that is installed later makes no configuration wrong.
      sections.flatMap(({ origin, rules }) => (origin === 'installed' ? [] : rules)),
    ),
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

/**
 * Takes out of the tree what looks like a section of a plugin that is not there: a map under a name that is near to none
 * of the names at the root. It costs a warning, not the service.
 */
function takeStrayed(tree: ConfigTree, schema: JsonSchema): readonly Problem[] {
  const names = Object.keys(propertiesOf(schema))
  const strayed = Object.entries(tree.root)
    .filter(([name, value]) => !names.includes(name) && isMap(value))
    .map(([name]) => name)
    .filter((name) => /^[a-z][a-z0-9_]*$/.test(name) && closest(name, names) === undefined)
    .filter((name) => name !== 'constructor')
  return strayed.map((name) => {
    delete tree.root[name]
    const message = 'is a section of no plugin of this build and of none that is installed; it has no effect'
    return { place: markOf(tree, [name])?.keyPlace ?? '', key: name, message }
  })
}

/**
 * Takes the keys out of the tree that plugins have of which this build knows no more than the names, and nobody who is here: what
 * was configured for another build costs a warning for each of them, not the service.
 */
function takeAbsent(tree: ConfigTree, schema: JsonSchema, sections: readonly Section[]): readonly Problem[] {
  const here = new Set(leavesOf(schema).map(({ key }) => key))
  return inOrder(sections).flatMap(({ plugin, origin, keys = [] }) => {
    if (origin !== 'known') return []
    const set = keys
      .filter((key) => !here.has(key))
      .map((key) => key.split('.'))
      .filter((path) => valueAt(tree.root, path) !== undefined)
    for (const path of set) remove(tree.root, path, schema)
    const [first] = set
    if (first === undefined) return []
    const message = `is set, and this build has no ${plugin}: it has no effect`
    return [{ place: markOf(tree, first)?.keyPlace ?? '', key: dotted(first), message }]
  })
}

/** Takes a value away, and the groups around it that are empty then and no groups of the schema. */
function remove(root: unknown, [name = '', ...rest]: readonly string[], schema: JsonSchema): void {
  if (!isMap(root)) return
  const inner = propertiesOf(schema)[name]
  if (rest.length > 0) remove(root[name], rest, inner ?? {})
  const value = root[name]
  if (rest.length === 0 || (inner === undefined && isMap(value) && Object.keys(value).length === 0))
    delete root[name]
}

/** What is set for plugins that this build lacks: an error where it switches something on, else a warning. */
function absentFeatures(
  tree: ConfigTree,
  values: unknown,
  sections: readonly Section[],
): { readonly problems: readonly Problem[]; readonly warnings: readonly Problem[] } {
  const problems: Problem[] = []
  const warnings: Problem[] = []
  for (const { plugin, schema, origin } of sections) {
    if (origin !== 'known') continue
    const set = leavesOf(schema ?? {}).filter(({ path }) => valueAt(tree.root, path) !== undefined)
    const on = set.filter(
      ({ path, schema: leaf }) =>
        path.at(-1) === 'enabled' && leaf.default === false && valueAt(values, path) === true,
    )
    for (const { path } of on) {
      const message = `is true, and this build has no ${plugin}; leave it out, or install ${plugin}`
      problems.push({ place: markOf(tree, path)?.place ?? '', key: dotted(path), message })
    }
    const first = set[0]
    if (on.length > 0 || first === undefined) continue
    const message = `is set, and this build has no ${plugin}: it has no effect`
    warnings.push({ place: markOf(tree, first.path)?.place ?? '', key: dotted(first.path), message })
  }
  return { problems, warnings }
}
