import type { Clock } from '@steeple/contracts'

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
   * fifth of the time is spent on walking.
   */
  recent(ageMs: number, signal: AbortSignal): Promise<Walked<T>>
  /** A walk that began at `sinceMs` or later. */
  since(sinceMs: number, signal: AbortSignal): Promise<Walked<T>>
  /** The last one that ended well, if it ended at most `ageMs` ago. */
  last(ageMs: number): Walked<T> | undefined
}

/** So many times the length of a walk its result is good enough for who does not need it fresh. */
const REST_FACTOR = 5

/**
 * Shares walks: whoever asks while one is under way waits for it, and those for whom it began too early share the next.
 *
 * `run` gets `retiring` as its signal: one who stops waiting does not end it for the others. A failure is everybody's
 * who waited, and is not kept.
 */
export function sharedWalk<T>(
  clock: Clock,
  retiring: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): SharedWalk<T> {
  let done: Walked<T> | undefined
  let current: { readonly beganMs: number; readonly result: Promise<Walked<T>> } | undefined
  let next: Promise<Walked<T>> | undefined
  const begin = (): Promise<Walked<T>> => {
    const beganMs = clock.monotonicMs()
    const result = (async () => {
      const value = await run(retiring)
      done = { value, beganMs, endedMs: clock.monotonicMs() }
      return done
    })().finally(() => {
      current = undefined
    })
    current = { beganMs, result }
    return result
  }
  const following = (before: Promise<unknown>): Promise<Walked<T>> => {
    next ??= before
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return begin()
      })
    return next
  }
  const since = (sinceMs: number, signal: AbortSignal): Promise<Walked<T>> => {
    if (done !== undefined && done.beganMs >= sinceMs) return Promise.resolve(done)
    if (current === undefined) return waitFor(next ?? begin(), signal)
    return waitFor(current.beganMs >= sinceMs ? current.result : following(current.result), signal)
  }
  return {
    since: async (sinceMs, signal) => {
      signal.throwIfAborted()
      return await since(sinceMs, signal)
    },
    recent: async (ageMs, signal) => {
      signal.throwIfAborted()
      const lastMs = done === undefined ? 0 : done.endedMs - done.beganMs
      return await since(clock.monotonicMs() - Math.max(ageMs, REST_FACTOR * lastMs), signal)
    },
    last: (ageMs) => (done !== undefined && clock.monotonicMs() - done.endedMs <= ageMs ? done : undefined),
  }
}

/** Settles as `work` does, or rejects with the signal's reason; `work` goes on. */
export async function waitFor<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined)
  signal.throwIfAborted()
  const fired = Promise.withResolvers<never>()
  const stop = (): void => fired.reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, fired.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
