import { type Context, type Request, type ServiceError, systemPrincipal } from '@steeple/contracts'

/** A try that failed, as the audit trail is to have it. */
export interface Failure {
  /** Whom it was about: a user's id, or `nobody`. */
  readonly target: string
  readonly network: string
  /** What the try has locked. */
  readonly locks?: 'name' | 'network' | undefined
  /** The answer. */
  readonly error: ServiceError
}

/** Writes failed logins into the audit trail: one by one as long as they are few, in sum beyond that. */
export interface FailureTrail {
  /** Writes the failure, under the action of the request, and throws its error. */
  refuse(request: Pick<Request, 'mutate'>, failure: Failure): Promise<never>
  /** Writes the sum of those that were not written one by one. */
  flush(): Promise<void>
}

/** The trail is kept for a year: strangers with many addresses must not be able to fill the disk with it. */
const MOST_PER_MINUTE = 60
const MINUTE_MS = 60_000
const BY_LOCK = systemPrincipal('access')

/** A trail over `Context.mutate`. */
export function createFailureTrail(context: Pick<Context, 'clock' | 'mutate'>): FailureTrail {
  let minute = { sinceMs: Number.NEGATIVE_INFINITY, written: 0 }
  let unwritten = 0
  const isFull = (): boolean => {
    const nowMs = context.clock.monotonicMs()
    if (nowMs - minute.sinceMs >= MINUTE_MS) minute = { sinceMs: nowMs, written: 0 }
    minute.written += 1
    return minute.written > MOST_PER_MINUTE
  }
  return {
    refuse: async (request, { target, network, locks, error }) => {
      if (isFull()) {
        unwritten += 1
        throw error
      }
      if (locks !== undefined) {
        await context.mutate(BY_LOCK, 'auth.lock', target, async (tx) => {
          tx.audit({ detail: { locked: locks, network } })
        })
      }
      await request.mutate(target, async (tx) => {
        tx.audit({ detail: { network } })
        throw error
      })
      throw error
    },
    flush: async () => {
      if (unwritten === 0) return
      const failures = unwritten
      unwritten = 0
      await context.mutate(BY_LOCK, 'auth.flood', 'nobody', async (tx) => {
        tx.audit({ detail: { failures } })
      })
    },
  }
}
