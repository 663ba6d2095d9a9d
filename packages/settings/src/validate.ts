import { ADMIN_TOKEN_VARIABLE, type JsonSchema, msFromDuration, SERVICE_CONFIG } from '@steeple/contracts'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import { Ajv2020 } from './ajv.ts'
import { type ConfigTree, isMap, type Problem, setOwn, valueAt } from './config-tree.ts'
import { describeProblem, textsIn } from './describe-problem.ts'
import { type Form, formsOf, systemSurroundings } from './forms.ts'
import { isGroup, leavesOf, propertiesOf } from './schema-tree.ts'

/** No schema of a configuration is nested as deep; what is may be meant to exhaust the stack. */
const DEEPEST = 40
/** Keywords whose operand is data, in which no keyword stands. */
const DATA: readonly string[] = ['default', 'const', 'enum', 'examples', 'x-env']

/** Where the walk is: in a schema, in the map of `properties`, or in data. */
type NodeKind = 'schema' | 'names' | 'data'

/**
 * What a schema says that would tell in others once all are put together, as the end of a sentence: references and names
 * that the other schemas share, defaults in relations, which would come before everybody's own. Also what is no schema.
 */
function strangeIn(schema: Readonly<Record<string, unknown>>): string | undefined {
  for (const [key, inner] of Object.entries(schema)) {
    const strange = strangeAt(inner, key === 'properties' ? 'names' : 'schema', key === 'allOf', 1)
    if (strange !== undefined) return strange
  }
  return undefined
}

function strangeAt(value: unknown, kind: NodeKind, isRelation: boolean, depth: number): string | undefined {
  if (depth > DEEPEST) return `is nested deeper than ${DEEPEST} levels`
  if (kind === 'names' && !isMap(value)) return 'has properties that are no map'
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    const here = Array.isArray(value) ? undefined : strangeEntry(key, inner, kind, isRelation)
    const strange = here ?? strangeAt(inner, placeBelow(kind, key), isRelation, depth + 1)
    if (strange !== undefined) return strange
  }
  return undefined
}

function strangeEntry(key: string, inner: unknown, kind: NodeKind, isRelation: boolean): string | undefined {
  if (kind === 'schema') return strangeKeyword(key, inner, isRelation)
  const isSchema = isMap(inner) || typeof inner === 'boolean'
  return kind === 'names' && !isSchema ? `has the property ${key}, which is no schema` : undefined
}

function placeBelow(kind: NodeKind, key: string): NodeKind {
  if (kind !== 'schema') return kind === 'data' ? 'data' : 'schema'
  return key === 'properties' ? 'names' : DATA.includes(key) ? 'data' : 'schema'
}

function strangeKeyword(key: string, operand: unknown, isRelation: boolean): string | undefined {
  if (key.startsWith('$'))
    return `has ${key}; schemas are put together, so that none can refer or be referred to`
  if (key === 'default' && isRelation) return 'has a default in allOf; it belongs to the key itself'
  if (key === 'x-env' && !isMap(operand)) return 'has an x-env that is no map with a name'
  const isRange =
    Array.isArray(operand) && operand.length === 2 && operand.every((one) => typeof one === 'string')
  return key === 'x-range' && !isRange ? 'has an x-range that is no list of two durations' : undefined
}

/** The result of checking a tree against a schema: the values with defaults, and what is wrong. */
export interface Validated {
  readonly values: Record<string, unknown>
  readonly problems: readonly Problem[]
  /** What works and is hardly meant: relations that say `x-warning`. */
  readonly odd: readonly Problem[]
}

/**
 * The code runs once: optimising it, and checking the schema against its meta-schema, took half of the start. Strict
 * mode still refuses unknown keywords and wrong operands. Types are not asked for next to each keyword: relations
 * (`if`, `then`) speak of keys whose type stands elsewhere.
 */
const OPTIONS: Options = {
  allErrors: true,
  strictSchema: true,
  strictTypes: false,
  strictTuples: false,
  useDefaults: true,
  ownProperties: true,
  verbose: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
}

/** Keywords that say something of a key and check nothing. */
const SAID: readonly string[] = [
  ...['x-env', 'x-apply', 'x-allowed', 'x-secret', 'x-shown', 'x-settable', 'x-warning', 'x-selects'],
]

/** Variables that no plugin can have for a key of its own: those of the service, and what commands take credentials from. */
const SERVICE_VARIABLES: ReadonlySet<string> = new Set([
  ...leavesOf(SERVICE_CONFIG).flatMap(({ env }) => env?.name ?? []),
  ...[ADMIN_TOKEN_VARIABLE, 'SVC_TOKEN', 'SVC_URL'],
])

/** Makes the check of a schema. A schema that does not compile is a thrown error. */
export type SchemaCompiler = (schema: JsonSchema, forms: Readonly<Record<string, Form>>) => ValidateFunction

/** A check that is used once. */
export const compileSchema: SchemaCompiler = (schema, forms) => validator(forms).compile(schema)

/**
 * Keeps the newest check: a reload mostly asks for the same, and compiling the whole schema takes 30 ms in which nothing
 * else happens in this process. What forms find in their surroundings must be what it was.
 */
export function createSchemaCompiler(): SchemaCompiler {
  let newest: { readonly text: string; readonly check: ValidateFunction } | undefined
  return (schema, forms) => {
    const text = JSON.stringify([schema, Object.values(forms).map(({ key }) => key)])
    if (newest?.text !== text) newest = { text, check: compileSchema(schema, forms) }
    return newest.check
  }
}

/** What a tree is checked against. */
export interface TreeSchemas {
  /** Says what keys there are. */
  readonly whole: JsonSchema
  /** As much of it as has to be checked for this tree: see `schemaOfWhatIsSet`. */
  readonly asked: JsonSchema
}

/** Checks a tree and fills the defaults into a copy of it. */
export function validateTree(
  tree: ConfigTree,
  { whole, asked }: TreeSchemas,
  forms: Readonly<Record<string, Form>>,
  compile: SchemaCompiler = compileSchema,
): Validated {
  const check = compile(asked, forms)
  const values = structuredClone(tree.root)
  dropEmptyGroups(values, whole)
  // The first run fills the defaults in; relations between keys are judged with all of them there.
  check(values)
  check(values)
  const said = withoutEchoes(check.errors ?? []).map((error) => ({
    problem: describeProblem(error, tree, whole, forms),
    isOdd: (error.parentSchema as JsonSchema | undefined)?.['x-warning'] === true,
  }))
  const of = (isOdd: boolean): readonly Problem[] =>
    unique(said.filter((one) => one.isOdd === isOdd).map(({ problem }) => problem))
  return { values, problems: of(false), odd: of(true) }
}

function validator(forms: Readonly<Record<string, Form>>): Ajv2020 {
  const ajv = new Ajv2020(OPTIONS)
  for (const keyword of SAID) ajv.addKeyword({ keyword })
  for (const [name, form] of Object.entries(forms)) {
    ajv.addFormat(name, (text) => text === '' || form.is(text))
  }
  ajv.addKeyword({ keyword: 'x-range', type: 'string', validate: isInRange, errors: false })
  ajv.addKeyword({ keyword: 'x-unique', type: 'array', validate: isUnique, errors: false })
  return ajv
}

/** `x-range: ["1s", "60s"]`: a duration is at least and at most so long. */
function isInRange([least, most]: readonly string[], text: string): boolean {
  const ms = msFromDuration(text)
  if (ms === undefined) return true // the format says so
  return ms >= (msFromDuration(least ?? '') ?? 0) && ms <= (msFromDuration(most ?? '') ?? 0)
}

/**
 * `x-unique: true`: no text twice, in any case; `"name"`: no two items with the same `name`, where they have one; `["name",
 * "url"]`: those that have none are called by the host of their `url`.
 */
function isUnique(by: string | readonly string[] | true, items: readonly unknown[]): boolean {
  const keys = textsIn(by, items).map((text) => text.toLowerCase())
  return new Set(keys).size === keys.length
}

/** One line for each wrong value: what has the wrong type breaks other rules too, and some rules say it twice. */
function withoutEchoes(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const mistyped = new Set(
    errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath),
  )
  const broken = new Set(
    errors
      .filter(({ schemaPath }) => !isRelation(schemaPath))
      .map(({ instancePath, keyword }) => (keyword === 'if' ? '' : instancePath)),
  )
  return errors.filter(
    ({ keyword, instancePath, schemaPath }) =>
      keyword !== 'if' &&
      !/\/propertyNames\/.+/.test(schemaPath) &&
      (keyword === 'type' || !mistyped.has(instancePath)) &&
      (!isRelation(schemaPath) || !broken.has(instancePath)),
  )
}

/** Whether a rule is one between keys, which stand in `allOf` at the root. */
function isRelation(schemaPath: string): boolean {
  return schemaPath.startsWith('#/allOf/')
}

function unique(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Map(problems.map((problem) => [JSON.stringify(problem), problem]))
  return [...seen.values()]
}

/** A group that is written without keys (`server:`) is a group without keys, not a null. */
function dropEmptyGroups(values: Record<string, unknown>, schema: JsonSchema): void {
  for (const [name, inner] of Object.entries(propertiesOf(schema))) {
    if (!isMap(inner.properties)) continue
    const value = valueAt(values, [name])
    if (value === null) setOwn(values, name, {})
    else if (isMap(value)) dropEmptyGroups(value, inner)
  }
}

/** Why a plugin's schema cannot be used, as the end of a sentence; undefined when it can. */
export function schemaProblem(schema: JsonSchema): string | undefined {
  return keysProblem(schema) ?? compileProblem(schema)
}

/** The same of the keys alone: the parts of the build are compiled as one when the configuration is read. */
export function keysProblem(schema: JsonSchema): string | undefined {
  const odd = Object.keys(schema).find((key) => !['type', 'properties', 'allOf', 'description'].includes(key))
  if (odd !== undefined) return `has ${odd} at its root; properties and allOf can stand there`
  const strange = strangeIn(schema)
  if (strange !== undefined) return strange
  const taken = Object.entries(propertiesOf(schema)).find(([name, inner]) => isTaken(name, inner))?.[0]
  if (taken !== undefined) return `claims ${taken}, which is the service's own`
  for (const { path, env, schema: leaf } of leavesOf(schema)) {
    const name = path.join('.')
    // Each object has a `constructor` already.
    if (!path.every((part) => /^[a-z][a-z0-9_]*$/.test(part) && part !== 'constructor'))
      return `has the key ${name}; a-z, 0-9 and _ only, and not constructor`
    if (env !== undefined && !/^SVC_[A-Z0-9_]+$/.test(String(env.name)))
      return `has the variable ${String(env.name)} for ${name}; it begins with SVC_`
    if (env !== undefined && SERVICE_VARIABLES.has(env.name))
      return `claims the variable ${env.name} for ${name}, which is the service's own`
    if (!['hot', 'reload', 'restart', undefined].includes(leaf['x-apply'] as string | undefined))
      return `says x-apply ${String(leaf['x-apply'])} for ${name}; hot, reload or restart can stand there`
  }
  return undefined
}

/** A group of the service in which plugins may have keys beside its own. */
const SHARED_GROUP = 'telemetry'

function isTaken(name: string, inner: JsonSchema): boolean {
  // `constructor` is a name that each object has.
  if (!Object.hasOwn(propertiesOf(SERVICE_CONFIG), name)) return false
  const own = propertiesOf(propertiesOf(SERVICE_CONFIG)[name] ?? {})
  const shares = (key: string): boolean => Object.hasOwn(own, key)
  return name !== SHARED_GROUP || !isGroup(inner) || Object.keys(propertiesOf(inner)).some(shares)
}

function compileProblem(schema: JsonSchema): string | undefined {
  try {
    compileSchema(schema, formsOf(systemSurroundings(), [], []))
    return undefined
  } catch (error) {
    return `is no schema: ${error instanceof Error ? error.message : String(error)}`
  }
}
