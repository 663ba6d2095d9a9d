import type { Clock, Principal } from '@steeple/contracts'
import { overLimit } from './over-limit.ts'

const WINDOW_MS = 60_000
/** Principals remembered at a time; each has one counter. */
const MOST_KNOWN = 10_000

/** Bounds the refusals of each principal that are written to the audit trail, which is kept for a year. */
export interface Denials {
  /** Counts one. Throws `rate_limited` when the principal had `mostPerMinute` within this minute. */
  count(principal: Principal): void
}

/** Somebody with the lowest role must not be able to fill the disk with refusals. */
export function createDenials(clock: Clock, mostPerMinute: number): Denials {
  const known = new Map<string, { readonly sinceMs: number; count: number }>()
  return {
    count: ({ kind, id }) => {
      const nowMs = clock.monotonicMs()
      const key = `${kind}:${id}`
      const entry = known.get(key)
      if (entry === undefined || nowMs - entry.sinceMs >= WINDOW_MS) {
        if (known.size >= MOST_KNOWN) known.clear()
        known.set(key, { sinceMs: nowMs, count: 1 })
        return
      }
      entry.count += 1
      if (entry.count > mostPerMinute) {
        const resetS = Math.ceil((entry.sinceMs + WINDOW_MS - nowMs) / 1_000)
        throw overLimit(
          `more than ${mostPerMinute} requests were refused for want of a role; wait a minute`,
          { name: 'refused', limit: mostPerMinute, remaining: 0, resetS, windowS: WINDOW_MS / 1_000 },
        )
      }
    },
  }
}
