import { southboundUnavailable } from '@steeple/contracts'

/** Settles as `work` does, or rejects at once when the signal fires or `limitMs` are over. `work` itself goes on. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let stop: (() => void) | undefined
  const early = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(southboundUnavailable(`no answer within ${limitMs} ms`)), limitMs)
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  work.catch(() => undefined)
  try {
    signal.throwIfAborted()
    return await Promise.race([work, early])
  } finally {
    clearTimeout(timer)
    if (stop !== undefined) signal.removeEventListener('abort', stop)
  }
}

/** Waits; rejects with the signal's reason when it fires. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = (): void => reject(signal.reason)
  const timer = setTimeout(resolve, ms)
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    await promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
