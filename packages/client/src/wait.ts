/** Resolves after so many ms; rejects with the reason of the signal as soon as that is aborted. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const leave = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }, ms)
    signal?.addEventListener('abort', leave, { once: true })
  })
}

/** Between the half and the whole of `baseMs` doubled `times` times, at most `mostMs`: many clients do not come back at once. */
export function backOff(baseMs: number, times: number, mostMs: number): number {
  const wholeMs = Math.min(baseMs * 2 ** times, mostMs)
  return wholeMs / 2 + (Math.random() * wholeMs) / 2
}

/** A signal that follows another one and can be aborted by itself. */
export interface Leash {
  readonly signal: AbortSignal
  /** Aborts after so many ms unless it is called again before. */
  within(ms: number): void
  /** Whether that time has passed. */
  readonly hasPassed: () => boolean
  /** Takes the time off. */
  atEase(): void
  /** Takes the time off and leaves the other signal. */
  release(): void
  /** Aborts now. */
  cut(): void
}

/** A leash of a signal. Whoever makes it releases it. */
export function leashOf(outer: AbortSignal | undefined): Leash {
  const controller = new AbortController()
  const follow = (): void => controller.abort(outer?.reason)
  let timer: ReturnType<typeof setTimeout> | undefined
  let passed = false
  if (outer?.aborted === true) follow()
  outer?.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    within: (ms) => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        passed = true
        controller.abort()
      }, ms)
    },
    hasPassed: () => passed,
    atEase: () => clearTimeout(timer),
    release: () => {
      clearTimeout(timer)
      outer?.removeEventListener('abort', follow)
    },
    cut: () => controller.abort(),
  }
}
