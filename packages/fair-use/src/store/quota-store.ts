import {
  allListed,
  chunksOf,
  createPause,
  defineTable,
  type ImsiHash,
  listed,
  type Reader,
  type Table,
  type Tx,
} from '@steeple/contracts'
import type { Period, PeriodClock } from '../periods.ts'

/** What happens to a SIM whose quota is used up. */
export type Action = 'suspend' | 'throttle' | 'alert'

/** A quota as it was set. Times are ms since the epoch. */
export interface QuotaRow {
  readonly hash: ImsiHash
  readonly quota_bytes: number
  readonly period: Period
  readonly action: Action
  /** Rate of action `throttle`; null: as configured. */
  readonly throttle_bps: number | null
  /** Of period `none`: when it began. */
  readonly since_ms: number
  /** Of period `none`: the beginning of the month in which it began, from which on usage counts, less the base. */
  readonly first_ms: number
  readonly base_up_bytes: number
  readonly base_down_bytes: number
  /** Granted once more in the period that began then. */
  readonly added_bytes: number
  readonly added_from_ms: number | null
  /** In the period that began then an operator lets it go on although it is used up. */
  readonly free_from_ms: number | null
}

export const QUOTAS: Table<QuotaRow> = defineTable(
  'fair_use_quota',
  [
    'hash',
    'quota_bytes',
    'period',
    'action',
    'throttle_bps',
    'since_ms',
    'first_ms',
    'base_up_bytes',
    'base_down_bytes',
    'added_bytes',
    'added_from_ms',
    'free_from_ms',
  ],
  ['hash'],
)

/** Rows of one statement. */
const AT_ONCE = 100

/** The quotas of those that have one, by hash. A damaged row is left out. */
export async function quotasOf(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<ImsiHash, QuotaRow>> {
  const found = new Map<ImsiHash, QuotaRow>()
  for (const some of chunksOf(hashes, AT_ONCE)) {
    const { where, params } = listed('hash', some)
    const { rows } = await QUOTAS.sound(reader, `where ${where}`, params)
    for (const row of rows) found.set(row.hash, row)
  }
  return found
}

/** In which periods usage of those is counted that have a quota. Not checked: a damaged row must not keep bytes from counting. */
export async function periodsOf(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<ImsiHash, Period>> {
  const sql = 'select hash, period from fair_use_quota where '
  const rows = await allListed<Pick<QuotaRow, 'hash' | 'period'>>(
    reader,
    'hash',
    hashes,
    (where) => sql + where,
  )
  return new Map(rows.map(({ hash, period }) => [hash, period]))
}

/** At most `limit` hashes of quotas behind `after`, by hash. */
async function hashesAfter(reader: Reader, after: string, limit: number): Promise<readonly ImsiHash[]> {
  const sql = 'select hash from fair_use_quota where hash > :after order by hash limit :limit'
  return (await reader.all<Pick<QuotaRow, 'hash'>>(sql, { after, limit })).map(({ hash }) => hash)
}

/** The hashes of all quotas, so many at a time. Of a hundred thousand it is seconds of work, in which requests go on. */
export async function* quotaHashes(reader: Reader, atOnce: number): AsyncGenerator<readonly ImsiHash[]> {
  const pause = createPause()
  for (let after = ''; ; ) {
    const hashes = await hashesAfter(reader, after, atOnce)
    if (hashes.length > 0) yield hashes
    const last = hashes.at(-1)
    if (hashes.length < atOnce || last === undefined) return
    after = last
    await pause()
  }
}

/** How many quotas there are, by action. */
export async function countByAction(reader: Reader): Promise<ReadonlyMap<string, number>> {
  const sql = 'select action, count(*) as quotas from fair_use_quota group by action'
  const rows = await reader.all<{ readonly action: string; readonly quotas: number }>(sql)
  return new Map(rows.map(({ action, quotas }) => [action, Number(quotas)]))
}

/** Forgets a SIM that has no quota any more. */
export async function removeQuota(tx: Tx, hash: string): Promise<void> {
  await QUOTAS.remove(tx, { hash })
  await tx.run('delete from fair_use_used where hash = :hash', { hash })
  await tx.run('delete from fair_use_standing where hash = :hash', { hash })
}

/** How a quota is to be. */
interface QuotaWish {
  readonly period?: Period | undefined
  readonly action?: Action | undefined
  readonly throttle_bps?: number | null | undefined
}

/** A quota of which nothing is used. Contract section 6 has what it is when nobody says otherwise. */
export function newQuota(
  hash: ImsiHash,
  quotaBytes: number,
  { calendar, now }: PeriodClock,
  { period = 'month', action = 'suspend', throttle_bps = null }: QuotaWish = {},
): QuotaRow {
  const { atMs } = now()
  return {
    hash,
    quota_bytes: quotaBytes,
    period,
    action,
    throttle_bps,
    since_ms: atMs,
    first_ms: calendar.spanOf('month', atMs).startMs,
    base_up_bytes: 0,
    base_down_bytes: 0,
    added_bytes: 0,
    added_from_ms: null,
    free_from_ms: null,
  }
}
