import { rateLimited } from '@steeple/contracts'

/** Bounds how much of the machine passwords may use. */
export interface PasswordGate {
  /** Runs `work` when there is room. Throws `rate_limited` when too many wait, of this network or of all. */
  run<T>(network: string, work: () => Promise<T>): Promise<T>
}

/** Bounds of the gate. */
export interface GateLimits {
  /** At work at a time: the thread pool has four threads, and the disk needs some. */
  readonly most: number
  /** Waiting at a time. */
  readonly mostWaiting: number
  /** Of them of one network, so that one cannot take all places. */
  readonly mostOfNetwork: number
}

/** Two passwords at a time use 64 MiB and two threads; who waits behind 24 others waits about four seconds. */
export const GATE_LIMITS: GateLimits = { most: 2, mostWaiting: 24, mostOfNetwork: 6 }
const RETRY_S = 5

/** A gate. First come, first served. */
export function createPasswordGate(limits: GateLimits = GATE_LIMITS): PasswordGate {
  const waiting: { readonly network: string; readonly begin: () => void }[] = []
  let running = 0
  const leave = (): void => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next.begin()
  }
  const enter = (network: string): Promise<void> => {
    if (running < limits.most) {
      running += 1
      return Promise.resolve()
    }
    const isFull =
      waiting.length >= limits.mostWaiting ||
      waiting.filter((one) => one.network === network).length >= limits.mostOfNetwork
    if (isFull) {
      throw rateLimited('too many people log in at this moment; try again', { retryAfterS: RETRY_S })
    }
    return new Promise((resolve) => {
      waiting.push({ network, begin: resolve })
    })
  }
  return {
    run: async (network, work) => {
      await enter(network)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
