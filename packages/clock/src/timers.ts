/**
 * One-shot timers, so that tests can drive time. A fake clock implements it beside `Clock`.
 *
 * What `setTimeout` returns is only ever given back to `clearTimeout`.
 */
export interface Timers {
  /** Runs `run` once, `delayMs` from now. */
  setTimeout(run: () => void, delayMs: number): unknown
  /** Forgets a timer. One that has run or is undefined: nothing happens. */
  clearTimeout(timer: unknown): void
}

/** The longest delay that Node's timers take: 2³¹−1 ms. A longer one would run at once. */
const LONGEST_DELAY_MS = 2_147_483_647

/** The timers of the process. */
export function systemTimers(): Timers {
  return {
    setTimeout: (run, delayMs) => setTimeout(run, Math.min(Math.max(0, delayMs), LONGEST_DELAY_MS)),
    clearTimeout: (timer) => {
      // Only what setTimeout above gave out comes back.
      clearTimeout(timer as NodeJS.Timeout | undefined)
    },
  }
}
