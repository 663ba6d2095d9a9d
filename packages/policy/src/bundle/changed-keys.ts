import { isRecord } from '@steeple/contracts'
import { memberPointer } from './schema-problems.ts'

/** One changed value of a document. `key` is its JSON pointer; arrays count as one value. */
export interface ChangedKey {
  readonly key: string
  readonly old: unknown
  readonly new: unknown
}

/** The values in which two JSON documents differ. Members that only one of them has count as `null` in the other. */
export function changedKeys(before: unknown, after: unknown, pointer = ''): readonly ChangedKey[] {
  if (isRecord(before) && isRecord(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return keys.flatMap((key) => changedKeys(before[key], after[key], memberPointer(pointer, key)))
  }
  return isSame(before, after) ? [] : [{ key: pointer, old: before ?? null, new: after ?? null }]
}

/** Whether two JSON values are equal; the order of members does not count. */
export function isSame(left: unknown, right: unknown): boolean {
  return canonicalJson(left) === canonicalJson(right)
}

/** JSON with the members of every object in alphabetical order. */
function canonicalJson(value: unknown): string {
  const sorted = (_key: string, member: unknown): unknown =>
    isRecord(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member
  return JSON.stringify(value ?? null, sorted)
}
