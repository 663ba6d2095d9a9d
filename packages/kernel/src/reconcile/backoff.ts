/** How long to wait after a failure. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/** A thrown reconcile call: 1 s · 2ⁿ, at most 5 min. */
export const RECONCILE_BACKOFF: Backoff = { firstMs: 1_000, longestMs: 300_000 }

/** Share of the delay that is random, so that what failed together does not come back together. */
const JITTER = 0.2

/** The delay after `failures` failures in a row (1 or more): never longer than `longestMs`. */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number, random: () => number): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return Math.round(fullMs * (1 - JITTER * random()))
}
