import {
  type ComponentHealth,
  countText,
  type ImsiHash,
  isServiceError,
  type MutationTx,
  type Outcome,
  type Reconciler,
  type SubscriberState,
  simRegisterRef,
  systemPrincipal,
} from '@steeple/contracts'
import { type ComplianceParts, ERASURE_RESOURCE } from './parts.ts'
import { addMoves, countErasures, ERASURES, openErasures } from './store.ts'

const RESYNC_MS = 60_000
const AGAIN_MS = 1_000
const MOST_LISTED = 10_000
/** An HSS that was told takes seconds. */
const LATE_MS = 3_600_000
/** What others that keep something of a SIM listen for. */
export const ERASE_ACTION = 'sim.erase'

/** Erases SIMs whose erasure was asked for, as soon as neither HSS nor core needs their IMSI any more. */
export function erasureReconciler(parts: ComplianceParts): Reconciler {
  const { context, count } = parts
  return {
    resource: ERASURE_RESOURCE,
    resyncMs: RESYNC_MS,
    keys: async () => {
      count.erasures.set(await countErasures(context.db))
      return (await openErasures(context.db, '', MOST_LISTED)).map(({ subject }) => subject)
    },
    reconcile: async (keys) => {
      const outcomes = new Map<string, Outcome>()
      for (const key of keys) outcomes.set(key, await eraseOrSay(parts, key))
      count.erasures.set(await countErasures(context.db))
      return outcomes
    },
  }
}

/** A SIM whose row is damaged keeps no other one. */
async function eraseOrSay(parts: ComplianceParts, subject: string): Promise<Outcome> {
  try {
    return await erase(parts, subject)
  } catch (error) {
    if (!isServiceError(error) || error.code !== 'store_corrupt') throw error
    return { state: 'failed', reason: `${subject} cannot be read: ${error.message}` }
  }
}

async function erase({ context }: ComplianceParts, subject: string): Promise<Outcome> {
  if ((await ERASURES.find(context.db, { subject })) === undefined) return { state: 'converged' }
  const register = context.use(simRegisterRef)
  // Stored from a parameter that is a hash by its schema.
  const imsi = subject as ImsiHash
  const remains = await register.remains(imsi)
  if (remains?.waitsFor !== undefined)
    return { state: 'pending', afterMs: AGAIN_MS, reason: 'the HSS is still to be told' }
  await context.mutate(systemPrincipal('compliance'), ERASE_ACTION, imsi, async (tx) => {
    await ERASURES.remove(tx, { subject })
    if (remains === undefined) return
    await register.eraseIn(tx, imsi)
    await noteErased(context.clock.nowMs(), tx, subject, remains.state)
  })
  return { state: 'converged' }
}

/** Writes down that a SIM is no more. */
export async function noteErased(
  at_ms: number,
  tx: MutationTx,
  subject: string,
  from_state: SubscriberState,
): Promise<void> {
  const move = { at_ms, kind: 'sim', subject, from_state, to_state: 'erased', reason: null } as const
  await addMoves(tx, [{ ...move, how: 'erased' }])
}

/** Not ok while an erasure has waited for longer than any HSS takes that answers. */
export async function erasureHealth({ context }: ComplianceParts): Promise<ComponentHealth> {
  const late = await countErasures(context.db, context.clock.nowMs() - LATE_MS)
  const about = { name: 'erasures', kind: 'feature' } as const
  if (late === 0) return { ...about, status: 'ok', detail: 'no erasure has waited for an hour' }
  const detail = `${countText(late, 'SIM is', 'SIMs are')} to be erased for an hour or longer; svc compliance erasures says what for`
  return { ...about, status: 'degraded', detail }
}
