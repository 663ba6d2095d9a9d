import { isRecord } from '@steeple/contracts'
/**
 * The target after a JSON merge patch: members of the patch replace, `null` removes, objects merge, arrays are whole.
 *
 * Neither argument is changed. Source: RFC 7396 §2.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const members = new Map(Object.entries(isRecord(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else members.set(key, mergePatch(members.get(key), value))
  }
  // fromEntries makes own members of any name, `__proto__` too.
  return Object.fromEntries(members)
}
