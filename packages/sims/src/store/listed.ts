import type { SqlParams } from '@steeple/contracts'

/** Lengths that lists have. */
const LIST_LENGTHS = [1, 10, 50, 100, 500] as const

/**
 * A condition that a column is one of some values. Statements are kept by their text: a list has one of few lengths, and
 * repeats its last value.
 */
export function listed(
  column: string,
  values: readonly string[],
): { readonly where: string; readonly params: SqlParams } {
  const length = LIST_LENGTHS.find((one) => one >= values.length) ?? values.length
  const names = Array.from({ length }, (_, i) => `in_${i}`)
  const last = values.at(-1) ?? null
  return {
    where: `${column} in (${names.map((name) => `:${name}`).join(', ')})`,
    params: Object.fromEntries(names.map((name, i) => [name, values[i] ?? last])),
  }
}
