import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ImsiHash, quotaKeeperRef } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { lastSeenTimes } from '../store/attach-store.ts'
import type { SimFilter } from '../store/sim-store.ts'
import {
  COLUMN_SORTS,
  type ColumnSort,
  listSorted,
  type SortPosition,
  sortKeys,
} from '../store/sorted-store.ts'
import { isSearch } from './search.ts'

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
  // Hashes of rows are hashes.
  const missing = keys.map(({ hash }) => hash as ImsiHash).filter((hash) => !values.has(hash))
  for (let at = 0; at < missing.length; at += ABREAST) {
    const some = missing.slice(at, at + ABREAST)
    const used = await keeper?.used(some)
    for (const hash of some) values.set(hash, used?.get(hash)?.usedBytes ?? 0)
    await nextTurn()
  }
  return values
}
