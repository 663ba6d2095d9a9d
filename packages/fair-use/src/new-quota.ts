import type { PeriodClock } from './period-clock.ts'
import type { Period } from './periods.ts'
import type { Action, QuotaRow } from './store/quota-store.ts'

/** What a quota is when nobody says otherwise. Contract section 6. */
const DEFAULTS = { period: 'month', action: 'suspend' } as const

/** How a quota is to be. */
export interface QuotaWish {
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
