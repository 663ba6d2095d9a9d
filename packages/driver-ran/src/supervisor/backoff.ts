import { backoffMs } from '@steeple/contracts'

/** Less its jitter, the first wait is 1 s. */
const BETWEEN_STARTS = { firstMs: 1_250, longestMs: 60_000 }
/** A radio that was on air for so long has proved itself, ms. */
const PROVEN_MS = 300_000

/** Waits between starts. */
export interface Backoff {
  /** How long to wait before the next start, ms: after a radio that was on air for `upMs`. */
  next(upMs: number): number
  reset(): void
}

/** From 1 s doubling to 60 s, with the jitter of every back-off, and from the beginning after 5 minutes on air. */
export function restartBackoff(random: () => number): Backoff {
  let failures = 0
  return {
    next: (upMs) => {
      failures = upMs >= PROVEN_MS ? 1 : failures + 1
      return backoffMs(BETWEEN_STARTS, failures, random)
    },
    reset: () => {
      failures = 0
    },
  }
}
