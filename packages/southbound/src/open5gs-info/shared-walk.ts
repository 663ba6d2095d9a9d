import { type Clock, untilAborted } from '@steeple/contracts'

/** What a walk found, and when it began and ended (monotonic ms). */
export interface Walked<T> {
  readonly value: T
  readonly beganMs: number
  readonly endedMs: number
}

/** One walk for all who want it. */
export interface SharedWalk<T> {
  /**
   * A walk that began at most `ageMs` ago, else a new one. After one that took long, also an older one: no more than a
   * fifth of the time is spent on walking, and after one that failed its error,
   * likewise, and the longer the more failed one after the other.
   */
  recent(ageMs: number, signal: AbortSignal): Promise<Walked<T>>
  /** A walk that began at `sinceMs` or later; the error of one that failed a moment ago. */
  since(sinceMs: number, signal: AbortSignal): Promise<Walked<T>>
  /** The last one that ended well, if it ended at most `ageMs` ago. */
  last(ageMs: number): Walked<T> | undefined
}

/** So many times the length of a walk its result is good enough for who does not need it fresh. */
const REST_FACTOR = 5
/** How long a failure stands for who needs to know, and at least and at most for who only looks, ms. */
const FAILED_MS = 2_000
const FAILED_MAX_MS = 60_000
/** Each further failure doubles the rest, up to so many times that of the first. */
const GROWTH_MAX = 8

interface Failure {
  readonly error: unknown
  readonly lastedMs: number
  readonly endedMs: number
  /** What its rest is multiplied by. */
  readonly growth: number
}

/**
 * Shares walks: whoever asks while one is under way waits for it, and those for whom it began too early share the next.
 *
 * `run` gets `retiring` as its signal: one who stops waiting does not end it for the others. A failure is everybody's
 * who waited, and of those who ask within the next seconds: a core in trouble is not asked without a pause.
 */
export function sharedWalk<T>(
  clock: Clock,
  retiring: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): SharedWalk<T> {
  let done: Walked<T> | undefined
  let failed: Failure | undefined
  let current: { readonly beganMs: number; readonly result: Promise<Walked<T>> } | undefined
  let next: Promise<Walked<T>> | undefined
  const begin = (): Promise<Walked<T>> => {
    const beganMs = clock.monotonicMs()
    const result = (async () => {
      try {
        const value = await run(retiring)
        failed = undefined
        done = { value, beganMs, endedMs: clock.monotonicMs() }
        return done
      } catch (error) {
        const endedMs = clock.monotonicMs()
        const growth = failed === undefined ? 1 : Math.min(GROWTH_MAX, 2 * failed.growth)
        failed = { error, lastedMs: endedMs - beganMs, endedMs, growth }
        throw error
      }
    })().finally(() => {
      current = undefined
    })
    current = { beganMs, result }
    return result
  }
  /** Throws the last failure while it is not older than that. */
  const refuseWithin = (restMs: number): void => {
    if (failed !== undefined && clock.monotonicMs() - failed.endedMs < restMs) throw failed.error
  }
  const following = (before: Promise<unknown>): Promise<Walked<T>> => {
    next ??= before
      .catch(() => undefined)
      .then(() => {
        next = undefined
        refuseWithin(FAILED_MS)
        return begin()
      })
    return next
  }
  const since = async (sinceMs: number, restMs: number, signal: AbortSignal): Promise<Walked<T>> => {
    signal.throwIfAborted()
    if (done !== undefined && done.beganMs >= sinceMs) return done
    if (current === undefined) {
      refuseWithin(restMs)
      return await untilAborted(next ?? begin(), signal)
    }
    return await untilAborted(current.beganMs >= sinceMs ? current.result : following(current.result), signal)
  }
  return {
    since: (sinceMs, signal) => since(sinceMs, FAILED_MS, signal),
    recent: (ageMs, signal) => {
      const lastMs = done === undefined ? 0 : done.endedMs - done.beganMs
      return since(clock.monotonicMs() - Math.max(ageMs, REST_FACTOR * lastMs), restAfter(failed), signal)
    },
    last: (ageMs) => (done !== undefined && clock.monotonicMs() - done.endedMs <= ageMs ? done : undefined),
  }
}

/** How long who only looks leaves it at a failure, ms. */
function restAfter(failed: Failure | undefined): number {
  if (failed === undefined) return 0
  return Math.min(FAILED_MAX_MS, Math.max(FAILED_MS, REST_FACTOR * failed.lastedMs * failed.growth))
}
