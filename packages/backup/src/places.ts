/** Takes a place, or waits for one, and gives what gives it back. Throws the signal's reason, or what `refusal` makes. */
export type TakePlace = (signal: AbortSignal) => Promise<() => void>

/** So many places at a time. Who finds none waits, at most `waitMs`, in the order of asking. */
export function createPlaces(places: number, waitMs: number, refusal: () => Error): TakePlace {
  let free = places
  const waiting = new Set<() => void>()
  const giveBack = (): void => {
    free += 1
    const [next] = waiting
    next?.()
  }
  const take = (): (() => void) => {
    free -= 1
    return giveBack
  }
  return async (signal) => {
    signal.throwIfAborted()
    if (free > 0) return take()
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    // Whoever was called or has left is out of the queue at once.
    const called = (): void => {
      waiting.delete(called)
      resolve(take())
    }
    const leave = (reason: unknown): void => {
      waiting.delete(called)
      reject(reason)
    }
    const aborted = (): void => leave(signal.reason)
    const timer = setTimeout(() => leave(refusal()), waitMs)
    waiting.add(called)
    signal.addEventListener('abort', aborted, { once: true })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
    }
  }
}
