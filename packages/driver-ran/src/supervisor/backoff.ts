const FIRST_MS = 1_000
const LAST_MS = 60_000
const JITTER = 0.25
/** A radio that was on air for so long has proved itself, ms. */
const PROVEN_MS = 300_000

/** Waits between starts. */
export interface Backoff {
  /** How long to wait before the next start, ms: after a radio that was on air for `upMs`. */
  next(upMs: number): number
  reset(): void
}

/** From 1 s doubling to 60 s, each ± 25 % within those bounds, and from the beginning after 5 minutes on air. */
export function restartBackoff(random: () => number): Backoff {
  let failures = 0
  return {
    next: (upMs) => {
      if (upMs >= PROVEN_MS) failures = 0
      const ms = Math.min(FIRST_MS * 2 ** failures, LAST_MS)
      failures = Math.min(failures + 1, 10)
      const spread = ms * (1 - JITTER + 2 * JITTER * random())
      return Math.round(Math.min(Math.max(spread, FIRST_MS), LAST_MS))
    },
    reset: () => {
      failures = 0
    },
  }
}
