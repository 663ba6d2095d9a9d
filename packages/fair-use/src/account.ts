import { type ImsiHash, type Reader, sumOctets } from '@steeple/contracts'
import type { Calendar, CalendarPeriod, Moment, Period, PeriodClock } from './periods.ts'
import { type QuotaRow, quotasOf } from './store/quota-store.ts'
import { type UsedRow, usedSince } from './store/used-store.ts'

/** A quota and what counts against it in its present period. */
export interface Account {
  readonly quota: QuotaRow
  readonly startMs: number
  /** Undefined: it ends when it is used up. */
  readonly endMs: number | undefined
  readonly upBytes: number
  readonly downBytes: number
  readonly usedBytes: number
  readonly isIncomplete: boolean
  /** When some was last counted; undefined when none was. */
  readonly updatedAtMs: number | undefined
  /** The quota with what was added for this period. */
  readonly limitBytes: number
  readonly isOver: boolean
  /** An operator lets it go on for this period. */
  readonly isFree: boolean
}

/** In which periods of the calendar usage is counted that a quota of this period is about. */
export function kindOf(period: Period): CalendarPeriod {
  return period === 'none' ? 'month' : period
}

/** The accounts of those that have a quota, by hash. */
export async function accountsOf(
  reader: Reader,
  hashes: readonly string[],
  { calendar, now }: PeriodClock,
): Promise<ReadonlyMap<ImsiHash, Account>> {
  const moment = now()
  const quotas = await quotasOf(reader, hashes)
  if (quotas.size === 0) return new Map()
  const firsts = [...quotas.values()].map((quota) => spanOf(calendar, quota, moment.atMs).firstMs)
  const used = await usedSince(reader, [...quotas.keys()], Math.min(...firsts))
  return new Map(
    [...quotas].map(([hash, quota]) => [hash, accountOf(quota, used.get(hash) ?? [], calendar, moment)]),
  )
}

interface QuotaSpan {
  readonly startMs: number
  readonly endMs: number | undefined
  /** The beginning of the first period of the calendar that counts. */
  readonly firstMs: number
}

/** The present period of a quota. */
function spanOf(calendar: Calendar, quota: QuotaRow, atMs: number): QuotaSpan {
  if (quota.period === 'none') return { startMs: quota.since_ms, endMs: undefined, firstMs: quota.first_ms }
  const span = calendar.spanOf(quota.period, atMs)
  return { ...span, firstMs: span.startMs }
}

/** The account of a quota whose counts are among `rows`. */
function accountOf(quota: QuotaRow, rows: readonly UsedRow[], calendar: Calendar, moment: Moment): Account {
  const { startMs, endMs, firstMs } = spanOf(calendar, quota, moment.atMs)
  const kind = kindOf(quota.period)
  const isOpen = endMs === undefined || moment.isDoubted
  const counted = rows.filter(
    (row) => row.kind === kind && row.starts_at_ms >= firstMs && (isOpen || row.starts_at_ms === firstMs),
  )
  const isNone = quota.period === 'none'
  const upBytes = total(counted, 'up_bytes', isNone ? quota.base_up_bytes : 0)
  const downBytes = total(counted, 'down_bytes', isNone ? quota.base_down_bytes : 0)
  const usedBytes = sumOctets(upBytes, downBytes)
  const limitBytes = limitOf(quota, startMs)
  return {
    quota,
    startMs,
    endMs,
    upBytes,
    downBytes,
    usedBytes,
    isIncomplete: counted.some(({ is_incomplete }) => is_incomplete === 1),
    updatedAtMs: counted.length === 0 ? undefined : Math.max(...counted.map((row) => row.updated_at_ms)),
    limitBytes,
    isOver: usedBytes >= limitBytes,
    isFree: quota.free_from_ms === startMs,
  }
}

/** The allowance of the period that begins then. */
function limitOf({ quota_bytes, added_bytes, added_from_ms }: QuotaRow, startMs: number): number {
  return sumOctets(quota_bytes, added_from_ms === startMs ? added_bytes : 0)
}

function total(rows: readonly UsedRow[], column: 'up_bytes' | 'down_bytes', base: number): number {
  return Math.max(0, sumOctets(-base, ...rows.map((row) => row[column])))
}
