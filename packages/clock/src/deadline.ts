import { notReady } from '@steeple/contracts'
import type { Timers } from './timers.ts'

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
