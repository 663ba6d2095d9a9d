import { overLimit } from '@steeple/contracts'
import { SCRYPT_COST, type ScryptCost } from './password.ts'

/** Who wants to have a password checked. */
interface Visitor {
  readonly network: string
  /** Has been here before: let in ahead of strangers, however many there are. */
  readonly isKnown: boolean
}

/** Bounds how much of the machine passwords may use. */
export interface PasswordGate {
  /** What a new hash costs. */
  readonly cost: ScryptCost
  /** Runs `work` when there is room. Throws `rate_limited` when too many wait, of this network or of all. */
  run<T>(visitor: Visitor, work: () => Promise<T>): Promise<T>
}

/** Bounds of the gate. */
export interface GateLimits {
  /** At work at a time: the thread pool has four threads, and the disk needs some. */
  readonly most: number
  /** Strangers who wait at a time, and likewise known ones. */
  readonly mostWaiting: number
  /** Of them of one network, so that one cannot take all places. */
  readonly mostOfNetwork: number
}

/** Two passwords at a time use 64 MiB and two threads; who waits behind 24 others waits about four seconds. */
export const GATE_LIMITS: GateLimits = { most: 2, mostWaiting: 24, mostOfNetwork: 6 }
const RETRY_S = 5

interface Waiting {
  readonly network: string
  readonly begin: () => void
}

/** A gate. Known visitors before strangers, and of each who came first. */
export function createPasswordGate(
  limits: GateLimits = GATE_LIMITS,
  cost: ScryptCost = SCRYPT_COST,
): PasswordGate {
  const known: Waiting[] = []
  const strangers: Waiting[] = []
  let running = 0
  const leave = (): void => {
    const next = known.shift() ?? strangers.shift()
    if (next === undefined) running -= 1
    else next.begin()
  }
  const enter = ({ network, isKnown }: Visitor): Promise<void> => {
    if (running < limits.most) {
      running += 1
      return Promise.resolve()
    }
    const queue = isKnown ? known : strangers
    const ofNetwork = queue.filter((one) => one.network === network)
    if (queue.length >= limits.mostWaiting || ofNetwork.length >= limits.mostOfNetwork) {
      const limit = { name: 'logins', limit: limits.mostWaiting, windowS: RETRY_S, resetS: RETRY_S }
      throw overLimit('too many people log in at this moment; try again', limit)
    }
    return new Promise((resolve) => {
      queue.push({ network, begin: resolve })
    })
  }
  return {
    cost,
    run: async (visitor, work) => {
      await enter(visitor)
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
