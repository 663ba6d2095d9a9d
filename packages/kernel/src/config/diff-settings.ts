import { isDeepStrictEqual } from 'node:util'
import { type Apply, CONFIG_SCHEMA, type JsonSchema } from '@steeple/contracts'
import { dotted, valueAt } from './config-tree.ts'
import { leavesOf } from './schema-tree.ts'

/** One key that has another value now, and when that takes effect. */
export interface SettingsChange {
  readonly key: string
  readonly apply: Apply
}

/** The keys that differ between two configurations, in the order of the schema. */
export function diffSettings(
  before: object,
  after: object,
  schema: JsonSchema = CONFIG_SCHEMA,
): readonly SettingsChange[] {
  return leavesOf(schema)
    .filter(({ path }) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)))
    .map(({ path, apply }) => ({ key: dotted(path), apply }))
}
