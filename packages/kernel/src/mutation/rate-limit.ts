import { agoMs, type WindowClock } from '@steeple/clock'
import {
  DEFAULT_RATE_LIMITS,
  defineTable,
  type Principal,
  rateLimited,
  type ServiceError,
  type Table,
} from '@steeple/contracts'
import type { Database, WriterTx } from '@steeple/store'
import type { RateState } from './mutations.ts'

interface RateRow {
  readonly name: string
  readonly started_at_ms: number
  readonly used: number
}

const RATE: Table<RateRow> = defineTable<RateRow>('kernel_rate', ['name', 'started_at_ms', 'used'], ['name'])
/** The limits of the policy are per hour. */
const WINDOW_MS = 3_600_000
const REMOVE_EXPIRED = 'delete from kernel_rate where started_at_ms <= :before'

/** A `rate_limited` error also says what the limit said, for the RateLimit header fields. */
export type RateLimitedError = ServiceError & { readonly rate: RateState }

/**
 * Takes `cost` from what `principal` may use of the limit `name`, in the caller's transaction. The window starts with
 * the first take and lasts an hour. Throws `rate_limited` (a `RateLimitedError`) when not enough is left; then nothing
 * is taken. A cost of 0 is never refused.
 */
export async function takeRate(
  tx: WriterTx,
  principal: Principal,
  name: string,
  cost: number,
  limit: number,
  clock: WindowClock,
): Promise<RateState> {
  const nowMs = clock.nowMs()
  const row = `${name} ${principal.kind}:${principal.id}`
  const stored = await RATE.find(tx, { name: row })
  // A clock that was set back starts a new window rather than a very long one.
  const isLive =
    stored !== undefined && nowMs >= stored.started_at_ms && stored.started_at_ms > agoMs(clock, WINDOW_MS)
  const window = isLive ? stored : { name: row, started_at_ms: nowMs, used: 0 }
  const resetS = Math.ceil((window.started_at_ms - agoMs(clock, WINDOW_MS)) / 1_000)
  const remaining = Math.max(0, limit - window.used)
  if (cost === 0) return { limit, remaining, resetS }
  if (cost > remaining) throw refusal(name, cost, { limit, remaining, resetS })
  await RATE.put(tx, { ...window, used: window.used + cost })
  return { limit, remaining: remaining - cost, resetS }
}

function refusal(name: string, cost: number, rate: RateState): RateLimitedError {
  const error = rateLimited(
    `${name} is ${rate.limit}, ${rate.remaining} are left for ${rate.resetS} s and ${cost} were asked for; PUT /v1/policy raises it`,
    { retryAfterS: rate.resetS },
  )
  return Object.assign(error, { rate })
}

/** Removes windows that are over. */
export async function sweepRates(db: Database, clock: WindowClock): Promise<void> {
  await db.transact((tx) => tx.run(REMOVE_EXPIRED, { before: agoMs(clock, WINDOW_MS) }))
}

/** The limits by name: `sim_issue` from `sim_issue_per_hour`. */
export function limitsOf(
  perHour: Readonly<Record<string, number>> | undefined,
): Readonly<Record<string, number>> {
  if (perHour === undefined) return DEFAULT_RATE_LIMITS
  const said = Object.entries(perHour).map(([name, limit]) => [name.replace(/_per_hour$/, ''), limit])
  return { ...DEFAULT_RATE_LIMITS, ...Object.fromEntries(said) }
}
