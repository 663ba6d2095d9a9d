import { listen } from './changes.ts'

/** Events come in bursts: what is read is read once for all of one, and on a busy box at most so often. */
const TOGETHER_MS = 120
const LEAST_MS = 500

/** Looks now, soon after events of these types, every `everyMs` and a last time after `forMs`, until the returned function is called. */
export function watch(
  look: (isLast: boolean) => void,
  {
    on,
    everyMs,
    forMs,
  }: { readonly on: readonly string[]; readonly everyMs: number; readonly forMs: number },
): () => void {
  const stop = soonAfter(on, () => look(false))
  const often = setInterval(() => look(false), everyMs)
  const longest = setTimeout(() => look(true), forMs)
  // After what is given back: the first look may be the last.
  queueMicrotask(() => look(false))
  return () => {
    stop()
    clearInterval(often)
    clearTimeout(longest)
  }
}

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
