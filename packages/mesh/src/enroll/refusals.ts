import { type Context, type Request, systemPrincipal } from '@steeple/contracts'

const WINDOW_MS = 60_000
/** Refusals of one minute that have an audit entry of their own; the others share one. */
const MOST_AUDITED = 10

/** Audits what is refused, in bounds: somebody with a token must not be able to fill the trail. */
export interface Refusals {
  /** Audits the refusal of a request and throws the error. Not for a request that has mutated. */
  refuse(request: Request<never, never, never>, target: string, error: unknown): Promise<never>
}

/** Makes one. The sum is written each minute in which there is one. */
export function createRefusals(context: Context): Refusals {
  let sinceMs = Number.NEGATIVE_INFINITY
  let audited = 0
  let summed = 0
  const flush = async (): Promise<void> => {
    const refused = summed
    summed = 0
    if (refused === 0) return
    await context.mutate(systemPrincipal('mesh'), 'node.enroll.refuse', 'mesh', async (tx) => {
      tx.audit({ detail: { refused } })
    })
  }
  context.every(WINDOW_MS, flush, 'each')
  return {
    refuse: async (request, target, error) => {
      const nowMs = context.clock.monotonicMs()
      if (nowMs - sinceMs >= WINDOW_MS) {
        sinceMs = nowMs
        audited = 0
      }
      audited += 1
      if (audited > MOST_AUDITED) summed += 1
      else
        await request.mutate(target, async () => {
          throw error
        })
      throw error
    },
  }
}
