import { defineTable, type Reader, type Table, type Tx } from '@steeple/contracts'
import type { Period, PeriodClock } from '../periods.ts'
import { oneOf, parts } from './listed.ts'

/** What happens to a SIM whose quota is used up. */
export type Action = 'suspend' | 'throttle' | 'alert'

/** A quota as it was set. Times are ms since the epoch. */
export interface QuotaRow {
  readonly hash: string
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

/** The quotas of those that have one, by hash. A damaged row is left out. */
export async function quotasOf(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, QuotaRow>> {
  const found = new Map<string, QuotaRow>()
  for (const part of parts(hashes)) {
    const { where, params } = oneOf(part)
    const { rows } = await QUOTAS.sound(reader, `where ${where}`, params)
    for (const row of rows) found.set(row.hash, row)
  }
  return found
}

/** In which periods usage of those is counted that have a quota. Not checked: a damaged row must not keep bytes from counting. */
export async function periodsOf(
  reader: Reader,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, Period>> {
  const found = new Map<string, Period>()
  for (const part of parts(hashes)) {
    const { where, params } = oneOf(part)
    const sql = `select hash, period from fair_use_quota where ${where}`
    const rows = await reader.all<{ readonly hash: string; readonly period: Period }>(sql, params)
    for (const { hash, period } of rows) found.set(hash, period)
  }
  return found
}

/** At most `limit` hashes of quotas behind `after`, by hash. */
export async function hashesAfter(reader: Reader, after: string, limit: number): Promise<readonly string[]> {
  const sql = 'select hash from fair_use_quota where hash > :after order by hash limit :limit'
  return (await reader.all<{ readonly hash: string }>(sql, { after, limit })).map(({ hash }) => hash)
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

/** What a quota is when nobody says otherwise. Contract section 6. */
const DEFAULTS = { period: 'month', action: 'suspend' } as const

/** How a quota is to be. */
interface QuotaWish {
  readonly period?: Period
  readonly action?: Action
  readonly throttleBps?: number | null
}

/** A quota of which nothing is used. */
export function newQuota(
  hash: string,
  quotaBytes: number,
  { calendar, now }: PeriodClock,
  { period = DEFAULTS.period, action = DEFAULTS.action, throttleBps = null }: QuotaWish = {},
): QuotaRow {
  const { atMs } = now()
  return {
    hash,
    quota_bytes: quotaBytes,
    period,
    action,
    throttle_bps: throttleBps,
    since_ms: atMs,
    first_ms: calendar.spanOf('month', atMs).startMs,
    base_up_bytes: 0,
    base_down_bytes: 0,
    added_bytes: 0,
    added_from_ms: null,
    free_from_ms: null,
  }
}
