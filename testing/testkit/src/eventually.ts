import { setTimeout as wait } from 'node:timers/promises'

const LEAST_PAUSE_MS = 5
const MOST_PAUSE_MS = 50
/** Of what was waited so far: a long wait looks more seldom, since whoever is asked has work with each look. */
const SHARE = 1 / 20

/**
 * Calls `look` until it neither throws nor answers false, and gives what it answered.
 *
 * `withinMs` (60,000 when absent) bounds the wait in real time; after it the last error is thrown.
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = 60_000): Promise<T> {
  const begunMs = performance.now()
  for (;;) {
    let failure: unknown = new Error(`it did not come true within ${withinMs} ms`)
    try {
      const seen = await look()
      if (seen !== false) return seen
    } catch (error) {
      failure = error
    }
    const waitedMs = performance.now() - begunMs
    if (waitedMs >= withinMs) throw failure instanceof Error ? failure : new Error(String(failure))
    await wait(Math.min(MOST_PAUSE_MS, LEAST_PAUSE_MS + waitedMs * SHARE))
  }
}
