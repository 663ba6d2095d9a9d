import { setTimeout as wait } from 'node:timers/promises'

const LEAST_PAUSE_MS = 5
const MOST_PAUSE_MS = 250
/** Of what was waited so far: a long wait looks more seldom, since whoever is asked has work with each look. */
const SHARE = 1 / 20
/** What a look took passes before the next one, up to this: else who is waited for has the answers for its main work. */
const LONGEST_REST_MS = 500

/**
 * Calls `look` until it neither throws nor answers false, and gives what it answered.
 *
 * `withinMs` (120,000 when absent) bounds the wait in real time; after it the last error is thrown.
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = 120_000): Promise<T> {
  const begunMs = performance.now()
  for (;;) {
    const lookedAtMs = performance.now()
    let failure: unknown = new Error(`it did not come true within ${withinMs} ms: ${look}`)
    try {
      const seen = await look()
      if (seen !== false) return seen
    } catch (error) {
      failure = error
    }
    const nowMs = performance.now()
    const waitedMs = nowMs - begunMs
    if (waitedMs >= withinMs) throw failure instanceof Error ? failure : new Error(String(failure))
    const pauseMs = Math.min(MOST_PAUSE_MS, LEAST_PAUSE_MS + waitedMs * SHARE)
    await wait(Math.max(pauseMs, Math.min(LONGEST_REST_MS, nowMs - lookedAtMs)))
  }
}
