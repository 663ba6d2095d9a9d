import type { JsonSchema } from '@steeple/contracts'
import type { ErrorObject, Options } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type ConfigTree, isMap, type Problem, pathOf, setOwn, valueAt } from './config-tree.ts'
import { describeProblem } from './describe-problem.ts'
import { propertiesOf } from './schema-tree.ts'

/** The result of checking a tree against a schema: the values with defaults, and what is wrong. */
export interface Validated {
  readonly values: Record<string, unknown>
  readonly problems: readonly Problem[]
  /** Paths that are wrong; nothing below or above one can be trusted. */
  readonly broken: readonly (readonly string[])[]
}

/**
 * The code runs once: optimising it, and checking the schema against its meta-schema, took half of the start. Strict
 * mode still refuses unknown keywords and wrong operands; a test checks the service's own schema in full.
 */
const OPTIONS: Options = {
  allErrors: true,
  strict: true,
  useDefaults: true,
  ownProperties: true,
  verbose: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
}

/** Checks a tree and fills the defaults into a copy of it. A schema that does not compile is a thrown error. */
export function validateTree(tree: ConfigTree, schema: JsonSchema): Validated {
  const ajv = new Ajv2020(OPTIONS)
  ajv.addKeyword({ keyword: 'x-env' })
  ajv.addKeyword({ keyword: 'x-apply' })
  // The validator refuses a default of the root, which is always there.
  const { default: _unused, ...root } = schema
  const check = ajv.compile(root)
  const values = structuredClone(tree.root)
  dropEmptyGroups(values, schema)
  check(values)
  const errors = withoutEchoes(check.errors ?? [])
  const problems = errors.map((error) => describeProblem(error, tree, schema))
  const broken = errors.map((error) => {
    const inner = error.params.additionalProperty
    const path = pathOf(error.instancePath)
    return typeof inner === 'string' ? [...path, inner] : path
  })
  return { values, problems: unique(problems), broken }
}

/** One line for each wrong value: what has the wrong type breaks other rules too, and `propertyNames` says it twice. */
function withoutEchoes(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const mistyped = new Set(
    errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath),
  )
  return errors.filter(
    ({ keyword, instancePath, schemaPath }) =>
      !/\/propertyNames\/.+/.test(schemaPath) && (keyword === 'type' || !mistyped.has(instancePath)),
  )
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
