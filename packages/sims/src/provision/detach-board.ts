/** Whether the session of a SIM that was cut off is gone. */
export type Detached = 'yes' | 'pending' | 'not_attached'

/** Tells those who wait how a cut ended. */
export interface DetachBoard {
  /** Waits for the next end of a cut of that SIM; `pending` when `ms` pass or the signal aborts before. */
  expect(hash: string, ms: number, signal: AbortSignal): Promise<Detached>
  /** A cut has ended. */
  ended(hash: string, how: Detached): void
}

/** A board without anybody who waits. */
export function detachBoard(): DetachBoard {
  const waiting = new Map<string, Set<(how: Detached) => void>>()
  return {
    expect: (hash, ms, signal) =>
      new Promise((resolve) => {
        const those = waiting.get(hash) ?? new Set()
        waiting.set(hash, those)
        const finish = (how: Detached): void => {
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
