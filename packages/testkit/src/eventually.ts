import { setTimeout as wait } from 'node:timers/promises'

const POLL_MS = 5

/**
 * Calls `look` until it neither throws nor answers false, and gives what it answered.
 *
 * `withinMs` (60,000 when absent) bounds the wait in real time; after it the last error is thrown.
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = 60_000): Promise<T> {
  const endMs = performance.now() + withinMs
  for (;;) {
    let failure: unknown = new Error(`it did not come true within ${withinMs} ms`)
    try {
      const seen = await look()
      if (seen !== false) return seen
    } catch (error) {
      failure = error
    }
    if (performance.now() >= endMs) throw failure instanceof Error ? failure : new Error(String(failure))
    await wait(POLL_MS)
  }
}
