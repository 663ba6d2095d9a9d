/** Periods and actions as requests name them. */
export type Period = 'day' | 'week' | 'month' | 'none'
export type Action = 'suspend' | 'throttle' | 'alert'

const DAY_MS = 86_400_000

/** What is simply true of a SIM, in UTC. */
export interface Truth {
  readonly counted: { readonly atMs: number; readonly bytes: number; readonly order: number }[]
  quota:
    | {
        readonly bytes: number
        readonly period: Period
        readonly action: Action
        readonly sinceMs: number
        readonly order: number
      }
    | undefined
  added: { readonly startMs: number; readonly bytes: number } | undefined
  freeMs: number | undefined
}

/** A SIM of which nothing is known. */
export function noTruth(): Truth {
  return { counted: [], quota: undefined, added: undefined, freeMs: undefined }
}

/** What plain arithmetic makes of it. */
export interface PlainAccount {
  readonly startMs: number
  readonly used: number
  readonly limit: number
  readonly isOver: boolean
  readonly isHeld: boolean
}

/** The account of a SIM at a moment; undefined without a quota. In doubt what is later counts in the present period. */
export function plainAccount(truth: Truth, nowMs: number, isDoubted: boolean): PlainAccount | undefined {
  const { quota, counted, added } = truth
  if (quota === undefined) return undefined
  const { period } = quota
  const startMs = period === 'none' ? quota.sinceMs : startOf(period, nowMs)
  const used = counted
    .filter(({ atMs, order }) =>
      period === 'none'
        ? order > quota.order && atMs >= startOf('month', quota.sinceMs)
        : atMs >= startMs && (isDoubted || startOf(period, atMs) === startMs),
    )
    .reduce((sum, { bytes }) => sum + bytes, 0)
  const limit = quota.bytes + (added?.startMs === startMs ? added.bytes : 0)
  const isOver = used >= limit
  return { startMs, used, limit, isOver, isHeld: isOver && truth.freeMs !== startMs }
}

function startOf(period: Exclude<Period, 'none'>, atMs: number): number {
  const day = Math.floor(atMs / DAY_MS) * DAY_MS
  const date = new Date(day)
  if (period === 'day') return day
  if (period === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  return day - ((date.getUTCDay() + 6) % 7) * DAY_MS
}
