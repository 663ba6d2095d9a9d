import {
  DEFAULT_RATE_LIMITS,
  defineTable,
  type Principal,
  rateLimited,
  type ServiceError,
  type Table,
} from '@steeple/contracts'
import type { CommitGroup, Database, WriterTx } from '@steeple/store'
import { agoMs, type WindowClock } from '../clock/window-clock.ts'
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

/** One take: how much of which limit. */
interface Take {
  readonly name: string
  readonly cost: number
  readonly limit: number
}

/** The windows of all principals. */
export interface Rates {
  /**
   * Takes from what `principal` may use of a limit, in the caller's transaction. The window starts with the first take and
   * lasts an hour. Throws `rate_limited` (a `RateLimitedError`) when not enough is left; then nothing is taken. A cost of 0
   * is never refused.
   */
  take(tx: WriterTx, principal: Principal, take: Take): Promise<RateState>
}

/** The newest state of a window among the jobs of a commit. */
interface GroupWindow {
  row: RateRow | undefined
}

/** Windows in the store. Each is read once and written once for each commit, not for each take. */
export function createRates(clock: WindowClock): Rates {
  const groups = new WeakMap<CommitGroup, Map<string, GroupWindow>>()

  async function windowOf(tx: WriterTx, name: string): Promise<GroupWindow> {
    const windows = groups.get(tx.group) ?? new Map<string, GroupWindow>()
    groups.set(tx.group, windows)
    const known = windows.get(name)
    if (known !== undefined) return known
    const stored = await RATE.find(tx, { name })
    const window: GroupWindow = { row: stored }
    windows.set(name, window)
    tx.group.beforeCommit(async (groupTx) => {
      if (window.row !== undefined && window.row !== stored) await RATE.put(groupTx, window.row)
    })
    return window
  }

  return {
    take: async (tx, principal, take) => {
      const name = `${take.name} ${principal.kind}:${principal.id}`
      const window = await windowOf(tx, name)
      const before = window.row
      const { row, rate } = taken({ ...take, row: name }, before, clock)
      if (row === undefined) return rate
      tx.onUndo(() => {
        window.row = before
      })
      window.row = row
      return rate
    },
  }
}

/** What a take leaves; no row when nothing is to be written. */
function taken(
  { name, row, cost, limit }: Take & { readonly row: string },
  stored: RateRow | undefined,
  clock: WindowClock,
): { readonly row?: RateRow; readonly rate: RateState } {
  const nowMs = clock.nowMs()
  // A clock that was set back starts a new window rather than a very long one.
  const isLive =
    stored !== undefined && nowMs >= stored.started_at_ms && stored.started_at_ms > agoMs(clock, WINDOW_MS)
  const window = isLive ? stored : { name: row, started_at_ms: nowMs, used: 0 }
  const resetS = Math.ceil((window.started_at_ms - agoMs(clock, WINDOW_MS)) / 1_000)
  const remaining = Math.max(0, limit - window.used)
  if (cost === 0) return { rate: { limit, remaining, resetS } }
  if (cost > remaining) throw refusal(name, cost, { limit, remaining, resetS })
  return {
    row: { ...window, used: window.used + cost },
    rate: { limit, remaining: remaining - cost, resetS },
  }
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

type Limits = Readonly<Record<string, number>>

/** Gives the limits by name: `sim_issue` from `sim_issue_per_hour`. What a policy says is looked at once: it is asked for each mutation. */
export function createLimits(): (perHour: Limits | undefined) => Limits {
  const known = new WeakMap<Limits, Limits>()
  return (perHour) => {
    if (perHour === undefined) return DEFAULT_RATE_LIMITS
    const limits = known.get(perHour) ?? limitsOf(perHour)
    known.set(perHour, limits)
    return limits
  }
}

function limitsOf(perHour: Limits): Limits {
  const said = Object.entries(perHour).map(([name, limit]) => [name.replace(/_per_hour$/, ''), limit])
  return { ...DEFAULT_RATE_LIMITS, ...Object.fromEntries(said) }
}
