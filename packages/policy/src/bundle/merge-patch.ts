/**
 * The target after a JSON merge patch: members of the patch replace, `null` removes, objects merge, arrays are whole.
 *
 * Neither argument is changed. Source: RFC 7396 §2.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const members = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key)
    else members.set(key, mergePatch(members.get(key), value))
  }
  // fromEntries makes own members of any name, `__proto__` too.
  return Object.fromEntries(members)
}

/** Whether a JSON value is an object, neither `null` nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
