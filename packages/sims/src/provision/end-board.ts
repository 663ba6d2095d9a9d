/** Whether the session of a SIM that was cut off is gone. */
export type Detached = 'yes' | 'pending' | 'not_attached'

/** Tells those who wait how a work on a SIM ended. */
export interface EndBoard<How> {
  /** Waits for the next end of it for that SIM; `pending` when `ms` pass or the signal aborts before. */
  expect(hash: string, ms: number, signal: AbortSignal): Promise<How | 'pending'>
  ended(hash: string, how: How): void
}

/** A board without anybody who waits. */
export function endBoard<How>(): EndBoard<How> {
  const waiting = new Map<string, Set<(how: How | 'pending') => void>>()
  return {
    expect: (hash, ms, signal) =>
      new Promise((resolve) => {
        const those = waiting.get(hash) ?? new Set()
        waiting.set(hash, those)
        const finish = (how: How | 'pending'): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', leave)
          those.delete(finish)
          if (those.size === 0 && waiting.get(hash) === those) waiting.delete(hash)
          resolve(how)
        }
        const leave = (): void => finish('pending')
        const timer = setTimeout(leave, ms)
        signal.addEventListener('abort', leave, { once: true })
        if (signal.aborted) leave()
        those.add(finish)
      }),
    ended: (hash, how) => {
      for (const finish of [...(waiting.get(hash) ?? [])]) finish(how)
    },
  }
}
