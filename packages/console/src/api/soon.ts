import { listen } from './changes.ts'

/** Events come in bursts: what is read is read once for all of one, and on a busy box at most so often. */
const TOGETHER_MS = 120
const LEAST_MS = 500

/** Calls `work` soon after an event of these types, and when events were missed; `work` is told of none. Gives back how to stop. */
export function soonAfter(types: readonly string[], work: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let lastAt = Number.NEGATIVE_INFINITY
  const stop = listen(types, () => {
    if (timer !== undefined) return
    const waitMs = Math.max(TOGETHER_MS, lastAt + LEAST_MS - performance.now())
    timer = setTimeout(() => {
      timer = undefined
      lastAt = performance.now()
      work()
    }, waitMs)
  })
  return () => {
    clearTimeout(timer)
    stop()
  }
}
