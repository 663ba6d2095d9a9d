/** How long to wait after a failure: `firstMs` · 2ⁿ, at most `longestMs`. */
export interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/** Share of the delay that is random, so that what failed together does not come back together. */
const JITTER = 0.2

/** The delay after `failures` failures in a row (1 or more), less up to a fifth. `random` gives 0 to 1 (exclusive). */
export function backoffMs(
  { firstMs, longestMs }: Backoff,
  failures: number,
  random: () => number = Math.random,
): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return Math.round(fullMs * (1 - JITTER * random()))
}
