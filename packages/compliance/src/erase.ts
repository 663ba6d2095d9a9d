import {
  type ImsiHash,
  type Outcome,
  type Reconciler,
  simRegisterRef,
  systemPrincipal,
} from '@steeple/contracts'
import { type ComplianceParts, ERASURE_RESOURCE } from './parts.ts'
import { addMoves, countErasures, ERASURES, openErasures } from './store.ts'

const RESYNC_MS = 60_000
const AGAIN_MS = 1_000
const MOST_LISTED = 10_000
/** What others that keep something of a SIM listen for. */
const ERASE_ACTION = 'sim.erase'

/** Erases SIMs whose erasure was asked for, as soon as neither HSS nor core needs their IMSI any more. */
export function erasureReconciler(parts: ComplianceParts): Reconciler {
  const { context, count } = parts
  return {
    resource: ERASURE_RESOURCE,
    resyncMs: RESYNC_MS,
    keys: async () => {
      count.erasures(await countErasures(context.db))
      return await openErasures(context.db, MOST_LISTED)
    },
    reconcile: async (keys) => {
      const outcomes = new Map<string, Outcome>()
      for (const key of keys) outcomes.set(key, await erase(parts, key))
      count.erasures(await countErasures(context.db))
      return outcomes
    },
  }
}

async function erase({ context }: ComplianceParts, subject: string): Promise<Outcome> {
  if ((await ERASURES.find(context.db, { subject })) === undefined) return { state: 'converged' }
  const register = context.use(simRegisterRef)
  // Stored from a parameter that is a hash by its schema.
  const imsi = subject as ImsiHash
  const remains = await register.remains(imsi)
  if (remains?.isAwaited === true)
    return { state: 'pending', afterMs: AGAIN_MS, reason: 'the HSS is still to be told' }
  await context.mutate(systemPrincipal('compliance'), ERASE_ACTION, imsi, async (tx) => {
    await ERASURES.remove(tx, { subject })
    if (remains === undefined) return
    await register.eraseIn(tx, imsi)
    await addMoves(tx, [
      {
        at_ms: context.clock.nowMs(),
        kind: 'sim',
        subject,
        from_state: remains.state,
        to_state: 'erased',
        reason: null,
        how: 'erased',
      },
    ])
  })
  return { state: 'converged' }
}
