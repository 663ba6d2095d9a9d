import { DURATION_PATTERN, type JsonSchema, msFromDuration, type Settings } from '@steeple/contracts'
import { type Segment, valueAt } from './config-tree.ts'
import { leavesOf } from './schema-tree.ts'
import { CHECKS, type ConfigSurroundings, type Found } from './semantic-checks.ts'

/** A value that has the right type and makes no sense. `also`: other keys that may have caused it. */
export interface SemanticProblem {
  readonly path: readonly Segment[]
  readonly message: string
  readonly also: readonly (readonly Segment[])[]
}

/** Durations that the pattern allows and that are none: zero, or longer than a century. */
export function durationProblems(
  values: unknown,
  broken: readonly (readonly string[])[],
  schema: JsonSchema,
): readonly SemanticProblem[] {
  const message = 'must be longer than 0 and at most 100 years, not'
  return leavesOf(schema).flatMap(({ path, schema: leaf }) => {
    const text = valueAt(values, path)
    const isDuration = leaf.pattern === DURATION_PATTERN && typeof text === 'string' && isSound(broken, path)
    if (!isDuration || msFromDuration(text) !== undefined) return []
    return [{ path, message: `${message} ${text}`, also: [] }]
  })
}

/** Everything that is wrong beyond types. `broken` are the paths that the schema refused already. */
export function semanticProblems(
  values: unknown,
  broken: readonly (readonly string[])[],
  schema: JsonSchema,
  surroundings: ConfigSurroundings,
): readonly SemanticProblem[] {
  const problems: SemanticProblem[] = []
  const found: Found = (key, message, also = []) => {
    problems.push({ path: key.split('.'), message, also: also.map((other) => other.split('.')) })
  }
  // Only checks whose keys passed the schema run, so what they read has the shape of Settings.
  const settings = values as Settings
  for (const check of CHECKS) {
    const isReady = check.keys.every((key) => isSound(broken, key.split('.')))
    if (isReady) check.run(settings, found, surroundings)
  }
  return [...problems, ...durationProblems(values, broken, schema)]
}

function isSound(broken: readonly (readonly string[])[], path: readonly string[]): boolean {
  return !broken.some((wrong) => isRelated(wrong, path))
}

/** Whether one path is the other or lies within it. */
function isRelated(a: readonly string[], b: readonly string[]): boolean {
  const length = Math.min(a.length, b.length)
  return a.slice(0, length).every((segment, index) => segment === b[index])
}

/** What works and is hardly meant. */
export function semanticWarnings(settings: Settings): readonly string[] {
  const warnings: string[] = []
  if (settings.core === 'core_b' && ['docdb_shell', 'dbctl'].includes(settings.hss.driver)) {
    warnings.push(
      `hss.driver is ${settings.hss.driver}, which writes to the HSS of core_a, and core is core_b`,
    )
  }
  if (settings.esim.enabled && settings.esim.smdp_address === '') {
    warnings.push('esim.enabled is true and esim.smdp_address is empty; no activation code can be made')
  }
  return warnings
}
