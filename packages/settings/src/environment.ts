import { ADMIN_TOKEN_VARIABLE, type JsonSchema } from '@steeple/contracts'
import { type ConfigTree, place } from './config-tree.ts'
import { closest } from './did-you-mean.ts'
import { leavesOf } from './schema-tree.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** One override variable. `isInverted`: a true variable sets its key to false. */
export interface EnvironmentRow {
  readonly variable: string
  readonly key: string
  readonly path: readonly string[]
  readonly isInverted: boolean
  readonly type: string
}

const TRUE_WORDS: readonly string[] = ['true', '1', 'yes']
const FALSE_WORDS: readonly string[] = ['false', '0', 'no']
const PREFIX = 'SVC_'
/** Variables of tests and of their surroundings. */
const TEST_PREFIX = 'SVC_TEST_'

/** The flat table of override variables, derived from the `x-env` keywords of a schema, in its order. */
export function environmentTable(schema: JsonSchema): readonly EnvironmentRow[] {
  return leavesOf(schema).flatMap(({ path, key, schema: { type }, env }) =>
    env === undefined
      ? []
      : [{ variable: env.name, key, path, isInverted: env.invert === true, type: String(type) }],
  )
}

/** Puts the values of the variables into the tree. An empty variable counts as not set. */
export function applyEnvironment(
  tree: ConfigTree,
  table: readonly EnvironmentRow[],
  environment: Environment,
): void {
  for (const row of table) {
    const text = environment[row.variable]
    if (text === undefined || text.trim() === '') continue
    const value = valueFromText(text, row)
    place(tree, row.path, value, { place: row.variable, keyPlace: row.variable, kind: 'environment' })
  }
}

/** The value that a variable's text stands for; the text itself when it is none of its type (refused later). */
function valueFromText(text: string, row: EnvironmentRow): unknown {
  const trimmed = text.trim()
  switch (row.type) {
    case 'boolean':
      return booleanFromText(trimmed, row.isInverted)
    case 'integer':
    case 'number':
      return /^[+-]?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed
    case 'array':
      return trimmed
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
    default:
      return trimmed
  }
}

function booleanFromText(text: string, isInverted: boolean): boolean | string {
  const word = text.toLowerCase()
  if (TRUE_WORDS.includes(word)) return !isInverted
  if (FALSE_WORDS.includes(word)) return isInverted
  return text
}

/** A line for each `SVC_` variable that nothing reads. `known` are further names that something does read. */
export function unknownVariables(
  table: readonly EnvironmentRow[],
  environment: Environment,
  known: readonly string[],
): readonly string[] {
  const names = [...table.map((row) => row.variable), ADMIN_TOKEN_VARIABLE, ...known]
  const stems = names.map((name) => name.replace(PREFIX, ''))
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !name.startsWith(TEST_PREFIX) && !names.includes(name))
    .toSorted()
    .map((name) => {
      const near = closest(name.slice(PREFIX.length), stems)
      const hint = near === undefined ? '' : ` Did you mean ${PREFIX}${near}?`
      return `${name}: no such variable; it has no effect.${hint}`
    })
}
