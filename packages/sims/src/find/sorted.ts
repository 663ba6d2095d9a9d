import { setImmediate as nextTurn } from 'node:timers/promises'
import { chunksOf, type ImsiHash, quotaKeeperRef, type Reader, type SqlParams } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { lastSeenTimes } from '../store/attach-store.ts'
import { conditions, NEWEST_FIRST, type SimFilter, whereText } from '../store/sim-store.ts'
import { isSearch } from './search.ts'

/** Columns that a list can be sorted by, by their names in the API. */
const COLUMN_SORTS = ['label', 'state', 'expires_at'] as const
type ColumnSort = (typeof COLUMN_SORTS)[number]
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
  readonly hash: ImsiHash
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
async function sortKeys(
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
    readonly hash: ImsiHash
  }>(sql, params)
  // PostgreSQL gives large numbers as texts.
  return rows.map(({ value, issued_at_ms: issuedAtMs, hash }) => ({
    value: sort === 'expires_at' && value !== null ? Number(value) : value,
    issuedAtMs: Number(issuedAtMs),
    hash,
  }))
}

/** What a list of SIMs can be sorted by. */
type SimSort = ColumnSort | 'last_seen' | 'used'
const SORTS: readonly SimSort[] = [...COLUMN_SORTS, 'last_seen', 'used']

/** The values of the parameter `sort`; `-` is descending. */
export const SORT_VALUES: readonly string[] = SORTS.flatMap((sort) => [sort, `-${sort}`])

/** An order of a list. SIMs without a value come last in both directions. */
interface Order {
  readonly sort: SimSort
  readonly isDown: boolean
}

function orderOf(text: string): Order {
  const isDown = text.startsWith('-')
  const sort = SORTS.find((one) => one === (isDown ? text.slice(1) : text))
  if (sort === undefined) throw new Error(`${text} passed the schema`)
  return { sort, isDown }
}

/**
 * At most `limit` SIMs of a filter in the order `text`, after `after`. Columns are read by their indexes. What is in no column, and
 * what a search finds, is sorted here: `found` gives the hashes of a search.
 */
export async function sortedSims(
  parts: SimsParts,
  filter: SimFilter,
  text: string,
  limit: number,
  after: SortPosition | undefined,
  found: () => Promise<readonly string[]>,
): Promise<readonly SortPosition[]> {
  const { db } = parts.context
  const { sort, isDown } = orderOf(text)
  const column = COLUMN_SORTS.find((one) => one === sort)
  const isFound = isSearch(filter)
  if (column !== undefined && !isFound) return await listSorted(db, filter, column, isDown, limit, after)
  const keys = await sortKeys(db, filter, column ?? 'expires_at')
  await nextTurn()
  const among = isFound ? new Set(await found()) : undefined
  const values = column === undefined ? await valuesOf(parts, sort, keys) : undefined
  const all = keys
    .filter(({ hash }) => among?.has(hash) !== false)
    .map((key) => (values === undefined ? key : { ...key, value: values.get(key.hash) ?? null }))
    .filter((key) => after === undefined || compare(key, after, isDown) > 0)
  return all.sort((a, b) => compare(a, b, isDown)).slice(0, limit)
}

function compare(a: SortPosition, b: SortPosition, isDown: boolean): number {
  const newest = b.issuedAtMs - a.issuedAtMs || (a.hash < b.hash ? 1 : a.hash > b.hash ? -1 : 0)
  if (a.value === null || b.value === null) return a.value === b.value ? newest : a.value === null ? 1 : -1
  const up = a.value < b.value ? -1 : a.value > b.value ? 1 : -newest
  return isDown ? -up : up
}

type Values = ReadonlyMap<string, number>

async function valuesOf(parts: SimsParts, sort: SimSort, keys: readonly SortPosition[]): Promise<Values> {
  if (sort === 'used') return await usedBytes(parts, keys)
  const times = await lastSeenTimes(parts.context.db)
  const attached = parts.attachedSet.now()
  for (const hash of attached?.hashes ?? []) times.set(hash, attached?.atMs ?? 0)
  return times
}

/** What was used, of all that were asked for, is summed up again after so long. */
const USED_MS = 10_000
/** Of whom it is asked at once. */
const ABREAST = 1_000
const KEPT = new WeakMap<SimsParts, { readonly values: Map<string, number>; readonly atMs: number }>()

/** Sums over the ledger cost more than a page may: those of a moment ago serve all pages of a list. */
async function usedBytes(parts: SimsParts, keys: readonly SortPosition[]): Promise<Values> {
  const { clock } = parts.context
  const keeper = parts.context.maybe(quotaKeeperRef)
  const nowMs = clock.monotonicMs()
  let kept = KEPT.get(parts)
  if (kept === undefined || nowMs - kept.atMs > USED_MS) kept = { values: new Map(), atMs: nowMs }
  KEPT.set(parts, kept)
  const { values } = kept
  const missing = keys.map(({ hash }) => hash).filter((hash) => !values.has(hash))
  for (const some of chunksOf(missing, ABREAST)) {
    const used = await keeper?.used(some)
    for (const hash of some) values.set(hash, used?.get(hash)?.usedBytes ?? 0)
    await nextTurn()
  }
  return values
}
