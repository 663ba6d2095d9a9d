import { isDeepStrictEqual } from 'node:util'
import type { Apply, JsonSchema } from '@steeple/contracts'
import { dotted, valueAt } from './config-tree.ts'
import { leavesOf } from './schema-tree.ts'

/** One key that has another value now, and when that takes effect. */
export interface SettingsChange {
  readonly key: string
  readonly apply: Apply
}

/** The keys of a schema that differ between two configurations, in its order. */
export function diffSettings(before: object, after: object, schema: JsonSchema): readonly SettingsChange[] {
  return leavesOf(schema)
    .filter(({ path }) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)))
    .map(({ path, apply }) => ({ key: dotted(path), apply }))
}
