import { isServiceError, type Reader, simStateConflict, systemPrincipal } from '@steeple/contracts'
import type { SimsParts } from './parts.ts'
import { changeSim } from './states/change.ts'
import { expiredHashes, wronglyExpired } from './store/sim-store.ts'

const CHUNK = 200
/** Moves at a time: they share commits. */
const ABREAST = 32

/**
 * Expires every SIM whose time has come, and gives back to every SIM that a wrong clock has expired what it was. Each
 * is a move of its own in the audit trail. Does nothing while the clock is not believed.
 */
export async function expireDue(parts: SimsParts, signal: AbortSignal): Promise<void> {
  await moveAll(parts, 'expire', expiredHashes, signal)
  await moveAll(parts, 'unexpire', wronglyExpired, signal)
}

type Find = (reader: Reader, nowMs: number, limit: number) => Promise<readonly string[]>

async function moveAll(
  parts: SimsParts,
  action: 'expire' | 'unexpire',
  find: Find,
  signal: AbortSignal,
): Promise<void> {
  const { clock, db } = parts.context
  const mayMove = (): boolean => !signal.aborted && clock.doubt?.() === undefined
  while (mayMove()) {
    const found = [...(await find(db, clock.nowMs(), CHUNK))]
    if (found.length === 0) return
    const worker = async (): Promise<void> => {
      for (let hash = found.pop(); hash !== undefined && mayMove(); hash = found.pop())
        await move(parts, action, hash)
    }
    await Promise.all(Array.from({ length: ABREAST }, worker))
  }
}

async function move(parts: SimsParts, action: 'expire' | 'unexpire', hash: string): Promise<void> {
  try {
    await parts.context.mutate(systemPrincipal('sims'), `sim.${action}`, hash, async (tx) => {
      const { before, after } = await changeSim(parts, tx, hash, { action })
      const facts = { from: before.state, to: after.state }
      tx.audit({ detail: facts })
      tx.event({ type: `sim.${action}`, subject: hash, data: facts })
    })
  } catch (error) {
    // Revoked in this very moment.
    if (!isServiceError(error) || error.code !== simStateConflict.code) throw error
  }
}
