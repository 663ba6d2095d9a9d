import {
  type Context,
  createRefusalTrail,
  type Request,
  type ServiceError,
  systemPrincipal,
} from '@steeple/contracts'

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

const MOST_PER_MINUTE = 60
const BY_LOCK = systemPrincipal('access')

/** A trail over `Context.mutate`. */
export function createFailureTrail(context: Pick<Context, 'clock' | 'mutate'>): FailureTrail {
  const trail = createRefusalTrail(context.clock, {
    mostPerMinute: MOST_PER_MINUTE,
    writeSum: (failures) =>
      context.mutate(BY_LOCK, 'auth.flood', 'nobody', async (tx) => {
        tx.audit({ detail: { failures } })
      }),
  })
  return {
    refuse: (request, { target, network, locks, error }) =>
      trail.refuse(request, {
        target,
        detail: { network },
        error,
        alongside: async () => {
          if (locks === undefined) return
          await context.mutate(BY_LOCK, 'auth.lock', target, async (tx) => {
            tx.audit({ detail: { locked: locks, network } })
          })
        },
      }),
    flush: () => trail.flush(),
  }
}
