import { isServiceError, simStateConflict, systemPrincipal } from '@steeple/contracts'
import type { SimsParts } from './parts.ts'
import { changeSim } from './states/change.ts'
import { expiredHashes } from './store/sim-store.ts'

const CHUNK = 200
/** Moves at a time: they share commits. */
const ABREAST = 32

/** Expires every SIM whose time has come. Each is a move of its own in the audit trail. */
export async function expireDue(parts: SimsParts, signal: AbortSignal): Promise<void> {
  const { context } = parts
  for (;;) {
    const due = [...(await expiredHashes(context.db, context.clock.nowMs(), CHUNK))]
    if (due.length === 0) return
    const worker = async (): Promise<void> => {
      for (let hash = due.pop(); hash !== undefined && !signal.aborted; hash = due.pop())
        await expire(parts, hash)
    }
    await Promise.all(Array.from({ length: ABREAST }, worker))
    if (signal.aborted) return
  }
}

async function expire(parts: SimsParts, hash: string): Promise<void> {
  try {
    await parts.context.mutate(systemPrincipal('sims'), 'sim.expire', hash, async (tx) => {
      const { before, after } = await changeSim(parts, tx, hash, { action: 'expire' })
      const facts = { from: before.state, to: after.state }
      tx.audit({ detail: facts })
      tx.event({ type: 'sim.expire', subject: hash, data: facts })
    })
  } catch (error) {
    // Revoked in this very moment.
    if (!isServiceError(error) || error.code !== simStateConflict.code) throw error
  }
}
