import type { SqlParams } from '@steeple/contracts'

/** Lengths that lists have. */
const LENGTHS = [1, 10, 100] as const

/** Values that one statement takes. */
const AT_ONCE = 100

/**
 * A condition that `hash` is one of some values. Statements are kept by their text: a list has one of few lengths, and
 * repeats its last value.
 */
export function oneOf(hashes: readonly string[]): { readonly where: string; readonly params: SqlParams } {
  const length = LENGTHS.find((one) => one >= hashes.length) ?? hashes.length
  const names = Array.from({ length }, (_, i) => `h${i}`)
  const last = hashes.at(-1) ?? null
  return {
    where: `hash in (${names.map((name) => `:${name}`).join(', ')})`,
    params: Object.fromEntries(names.map((name, i) => [name, hashes[i] ?? last])),
  }
}

/** Writes a row whole, whether it is there or not; `columns` begin with those of the `keys`. */
export function putSql(table: string, columns: readonly string[], keys: number): string {
  const changed = columns.slice(keys).map((column) => `${column} = excluded.${column}`)
  return `insert into ${table} (${columns.join(', ')})
    values (${columns.map((column) => `:${column}`).join(', ')})
    on conflict (${columns.slice(0, keys).join(', ')}) do update set ${changed.join(', ')}`
}

/** Cuts a list into parts that one statement takes. */
export function parts<T>(list: readonly T[], size: number = AT_ONCE): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))
}
