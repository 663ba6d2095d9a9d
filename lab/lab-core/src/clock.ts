import { setTimeout as wait } from 'node:timers/promises'

/** Time and waiting. */
export interface LabClock {
  /** µs since the epoch. */
  nowUs(): number
  /** Resolves after `ms`; rejects when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export function machineClock(): LabClock {
  return {
    nowUs: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
    sleep: async (ms, signal) => {
      await wait(ms, undefined, signal === undefined ? {} : { signal })
    },
  }
}
