/** Tells whoever listens or waits that something is another than before. */
export interface Changes {
  tell(): void
  /** Until the returned function is called. */
  listen(listener: () => void): () => void
  /** Resolves at the next `tell`, after `longestMs`, or when the signal fires; at once when it has. */
  next(longestMs: number, signal: AbortSignal): Promise<void>
}

export function createChanges(): Changes {
  const listeners = new Set<() => void>()
  const listen = (listener: () => void): (() => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return {
    tell: () => {
      for (const listener of [...listeners]) listener()
    },
    listen,
    next: async (longestMs, signal) => {
      if (signal.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const stop = listen(resolve)
      const timer = setTimeout(resolve, longestMs)
      timer.unref()
      signal.addEventListener('abort', () => resolve(), { once: true })
      await promise
      clearTimeout(timer)
      stop()
    },
  }
}
