/** Whether two values of documents say the same: numbers of any type by value, documents in any order of their fields. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    const [left, right] = [numberOf(a), numberOf(b)]
    return left !== undefined && left === right
  }
  const [left, right] = [numberOf(a), numberOf(b)]
  if (left !== undefined || right !== undefined) return left === right
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [ours, theirs] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
  return (
    ours.size === theirs.size &&
    [...ours].every(([key, value]) => theirs.has(key) && same(value, theirs.get(key)))
  )
}

/** A number however it is stored; undefined for anything else, text of digits too. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'object' || value === null) return undefined
  const { _bsontype: type } = value as { _bsontype?: unknown } // a class of `bson` names itself
  return type === 'Int32' || type === 'Double' || type === 'Long' ? Number(String(value)) : undefined
}

/** A value as an embedded document; an empty one for anything else. */
export function docOf(value: unknown): Readonly<Record<string, unknown>> {
  const isDoc =
    typeof value === 'object' && value !== null && !Array.isArray(value) && numberOf(value) === undefined
  return isDoc ? (value as Readonly<Record<string, unknown>>) : {} // checked before
}
