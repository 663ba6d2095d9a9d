import type { Reader, SqlParams } from '@steeple/contracts'
import { conditions, NEWEST_FIRST, type SimFilter, whereText } from './sim-store.ts'

/** Columns that a list can be sorted by, by their names in the API. */
export const COLUMN_SORTS = ['label', 'state', 'expires_at'] as const
export type ColumnSort = (typeof COLUMN_SORTS)[number]
/** As their indexes have them. */
const SORTED_BY: Readonly<Record<ColumnSort, string>> = {
  label: 'lower(label)',
  state: 'state',
  expires_at: 'expires_at_ms',
}

/** Position in a sorted list; a null value is behind all others. */
export interface SortPosition {
  readonly value: string | number | null
  readonly issuedAtMs: number
  readonly hash: string
}

/**
 * At most `limit` SIMs after `after`, by a column; those without a label behind all others, newest first. Not checked: the page that
 * shows them is.
 */
export async function listSorted(
  reader: Reader,
  filter: SimFilter,
  sort: ColumnSort,
  isDown: boolean,
  limit: number,
  after: SortPosition | undefined,
): Promise<readonly SortPosition[]> {
  const isBehind = after !== undefined && after.value === null
  const found = isBehind ? [] : await withValue(reader, filter, sort, isDown, limit, after)
  if (sort !== 'label' || found.length >= limit) return found
  const { where, params } = conditions(filter, isBehind ? after : undefined)
  const sql = `select null as value, issued_at_ms, hash from sims_sim ${whereText([...where, 'label is null'])}${NEWEST_FIRST}`
  return [...found, ...(await sortedBy(reader, sort, sql, { ...params, limit: limit - found.length }))]
}

async function withValue(
  reader: Reader,
  filter: SimFilter,
  sort: ColumnSort,
  isDown: boolean,
  limit: number,
  after: SortPosition | undefined,
): Promise<readonly SortPosition[]> {
  const by = SORTED_BY[sort]
  const { where, params } = conditions(filter)
  const [way, than] = isDown ? ['desc', '<'] : ['asc', '>']
  if (sort === 'label') where.push('label is not null')
  if (after !== undefined) {
    where.push(`(${by}, issued_at_ms, hash) ${than} (:after_value, :after_ms, :after_hash)`)
    // SQLite begins at an expression by the plain comparison alone.
    if (sort === 'label') where.push(`${by} ${than}= :after_value`)
    Object.assign(params, { after_value: after.value, after_ms: after.issuedAtMs, after_hash: after.hash })
  }
  const rest = `order by ${by} ${way}, issued_at_ms ${way}, hash ${way} limit :limit`
  const sql = `select ${by} as value, issued_at_ms, hash from sims_sim ${whereText(where)}${rest}`
  return await sortedBy(reader, sort, sql, { ...params, limit })
}

/** All that a filter's columns let through, with what they are sorted by, in no order. */
export async function sortKeys(
  reader: Reader,
  filter: SimFilter,
  sort: ColumnSort,
): Promise<readonly SortPosition[]> {
  const { where, params } = conditions(filter)
  const sql = `select ${SORTED_BY[sort]} as value, issued_at_ms, hash from sims_sim ${whereText(where)}`
  return await sortedBy(reader, sort, sql, params)
}

async function sortedBy(
  reader: Reader,
  sort: ColumnSort,
  sql: string,
  params: SqlParams,
): Promise<readonly SortPosition[]> {
  const rows = await reader.all<{
    readonly value: string | number | null
    readonly issued_at_ms: number
    readonly hash: string
  }>(sql, params)
  // PostgreSQL gives large numbers as texts.
  return rows.map(({ value, issued_at_ms: issuedAtMs, hash }) => ({
    value: sort === 'expires_at' && value !== null ? Number(value) : value,
    issuedAtMs: Number(issuedAtMs),
    hash,
  }))
}
