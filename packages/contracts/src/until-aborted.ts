/**
 * Settles as `work` does, or rejects with the signal's reason as soon as that fires: for work that may ignore its signal.
 * `work` itself goes on, and its failure then is nobody's.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // What comes from a plugin in plain JavaScript may be no promise.
  const settled = Promise.resolve(work)
  settled.catch(() => undefined)
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([settled, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
