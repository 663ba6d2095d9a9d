import { type Clock, notReady } from '@steeple/contracts'

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

export function systemTimers(): Timers {
  return {
    setTimeout: (run, delayMs) => setTimeout(run, Math.min(Math.max(0, delayMs), LONGEST_DELAY_MS)),
    clearTimeout: (timer) => {
      // Only what setTimeout above gave out comes back.
      clearTimeout(timer as NodeJS.Timeout | undefined)
    },
  }
}

/**
 * Waits for `work` at most `boundMs`. Throws `not_ready` naming `what` when it takes longer.
 *
 * The work itself is not stopped: whoever starts work that can hang gives it a signal too, or cleans up after it.
 */
export async function within<T>(
  timers: Timers,
  boundMs: number,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = timers.setTimeout(() => {
    late.reject(notReady(`${what} took longer than ${boundMs / 1000} s`))
  }, boundMs)
  try {
    // A plain function that throws at once is the same failure as a rejected promise.
    const begun = (async () => await work())()
    return await Promise.race([begun, late.promise])
  } finally {
    timers.clearTimeout(timer)
  }
}

/** The machine's own time. `nowMs` follows the wall clock, `monotonicMs` counts from the start of the process. */
export function systemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
  }
}

/** A clock that may know of steps in its past, see `JudgedClock.agoMs`. */
export interface WindowClock extends Clock {
  agoMs?(ms: number): number
}

/** What the clock said `ms` ago: what was written before then is older than `ms`. */
export function agoMs(clock: WindowClock, ms: number): number {
  return clock.agoMs?.(ms) ?? clock.nowMs() - ms
}
