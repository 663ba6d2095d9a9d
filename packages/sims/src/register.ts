import { type SimRegister, simNotFound, simStateConflict } from '@steeple/contracts'
import { FILES_RESOURCE, type SimsParts } from './parts.ts'
import { changeSim, recordedState } from './states/change.ts'
import { BATCHES } from './store/batch-store.ts'
import { forgetSeen } from './store/seen-store.ts'
import { SIMS, type SimRow } from './store/sim-row.ts'
import { statesAfter } from './store/state-store.ts'
import { removeWords } from './store/word-store.ts'

/** What keeps a record sees of the SIMs, and how one of them ends for good. */
export function simRegister(parts: SimsParts): SimRegister {
  const { context } = parts
  return {
    states: async (tx, after, limit) =>
      (await statesAfter(context.db.join(tx), after, limit)).map(recordedState),
    remains: async (imsi, tx) => {
      const reader = tx === undefined ? context.db : context.db.join(tx)
      const row = await SIMS.find(reader, { hash: imsi })
      return row === undefined
        ? undefined
        : { state: row.state, isUnused: row.attached_at_ms === null, isAwaited: isAwaited(row) }
    },
    revokeIn: async (tx, imsi) => {
      await changeSim(parts, context.db.join(tx), imsi, { action: 'revoke' })
    },
    eraseIn: async (tx, imsi) => {
      const own = context.db.join(tx)
      const row = await SIMS.find(own, { hash: imsi })
      if (row === undefined) throw simNotFound(imsi)
      if (row.state !== 'revoked' || isAwaited(row))
        throw simStateConflict(`the SIM ${imsi} is ${row.state}, and the HSS is still to be told`)
      await SIMS.remove(own, { hash: imsi })
      await removeWords(own, imsi)
      await forgetSeen(own, imsi)
      const batch = row.batch_id === null ? undefined : await BATCHES.find(own, { id: row.batch_id })
      if (batch !== undefined) {
        // The files of the batch hold the card: they are written anew without it.
        await BATCHES.put(own, { ...batch, sims: batch.sims - 1, files_at_ms: null })
        tx.dirty(FILES_RESOURCE, batch.id)
      }
      tx.afterCommit(() => parts.counters.removed(row.state))
    },
  }
}

function isAwaited({ hss_status, state }: SimRow): boolean {
  return state !== 'revoked' || hss_status !== 'synced'
}
