import {
  type Context,
  createRefusalTrail,
  isServiceError,
  type Request,
  systemPrincipal,
} from '@steeple/contracts'

const MINUTE_MS = 60_000
/** Refusals of one minute that have an audit entry of their own; the others share one. */
const MOST_AUDITED = 10

/** Audits what is refused, in bounds: neither a stranger nor somebody with a token must be able to fill the trail. */
export interface Refusals {
  /** Audits the refusal of a request and throws the error. Not for a request that has mutated. */
  refuse(request: Request<never, never, never>, target: string, error: unknown): Promise<never>
  /** The same of a request that the edge refuses; it throws the error itself. */
  note(request: Request<never, never, never>, target: string, error: unknown): Promise<void>
}

/** Makes one; `at`: of which route. The sum is written each minute in which there is one. */
export function createRefusals(context: Context, at: 'enroll' | 'renew'): Refusals {
  const trail = createRefusalTrail(context.clock, {
    mostPerMinute: MOST_AUDITED,
    writeSum: (refused) =>
      context.mutate(systemPrincipal('mesh'), 'node.enroll.refuse', 'mesh', async (tx) => {
        tx.audit({ detail: { refused, at } })
      }),
  })
  context.every(MINUTE_MS, () => trail.flush(), 'each')
  const refuse: Refusals['refuse'] = async (request, target, error) => {
    // What is no answer is a fault of this service, and in its log.
    if (!isServiceError(error)) throw error
    return await trail.refuse(request, { target, detail: detailOf(error), error })
  }
  return {
    refuse,
    note: (request, target, error) =>
      refuse(request, target, error).catch((thrown: unknown) => {
        if (thrown !== error) throw thrown
      }),
  }
}

/** What was asked for. Words of this service alone: what stands in a body by mistake must not get into the trail. */
function detailOf({ details }: { readonly details?: unknown }): Readonly<Record<string, unknown>> {
  const [first] = Array.isArray(details) ? details : []
  return first?.pointer === '/csr_pem' ? { reason: String(first.message) } : {}
}
