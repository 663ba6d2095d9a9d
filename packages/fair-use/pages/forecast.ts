/** What a forecast is made of. */
export interface UsageSoFar {
  readonly total_bytes: number
  readonly quota_bytes: number | null
  readonly added_bytes: number
  readonly period_start: string
  readonly period_end: string | null
}

/** Where it goes when it goes on as so far in this period. */
export interface Forecast {
  /** Octets at the end of the period; of one without an end, those of now. */
  readonly total: number
  /** RFC 3339; undefined when it lasts. */
  readonly usedUpAt: string | undefined
}

/** Less than that says nothing yet. */
const LEAST_MS = 3_600_000
/** What is further off is no forecast. */
const MOST_MS = 366 * 86_400_000

/** A forecast by the pace of the period so far; undefined without a quota, without use, or too early in the period. */
export function forecastOf(standing: UsageSoFar, nowMs: number): Forecast | undefined {
  const { total_bytes: used, quota_bytes: quota, added_bytes: added } = standing
  const sinceMs = nowMs - Date.parse(standing.period_start)
  if (quota === null || used === 0 || sinceMs < LEAST_MS) return undefined
  const pace = used / sinceMs
  const endMs = standing.period_end === null ? undefined : Date.parse(standing.period_end)
  const atMs = nowMs + Math.max(0, quota + added - used) / pace
  const isBefore = endMs === undefined ? atMs - nowMs < MOST_MS : atMs < endMs
  return {
    total: endMs === undefined ? used : used + pace * Math.max(0, endMs - nowMs),
    usedUpAt: isBefore ? new Date(atMs).toISOString() : undefined,
  }
}
