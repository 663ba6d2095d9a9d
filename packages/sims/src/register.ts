import {
  type MutationTx,
  type Reader,
  type SimRegister,
  simNotFound,
  simStateConflict,
} from '@steeple/contracts'
import { BATCHES, isLabelOfBatch } from './batch/batches.ts'
import type { SimsParts } from './parts.ts'
import { noCard } from './secrets/card.ts'
import { changeSim, recordedState } from './states/change.ts'
import { forgetSeen } from './store/attach-store.ts'
import { SIMS, type SimLifecycle, type SimRow } from './store/sim-store.ts'
import { removeWords } from './store/word-store.ts'

const STATES_AFTER =
  'select hash, state, suspend_reason from sims_sim where hash > :after order by hash limit :limit'

/** The standing of at most `limit` SIMs with a hash behind `after`, by hash. Not checked. */
function statesAfter(
  reader: Reader,
  after: string,
  limit: number,
): Promise<readonly Pick<SimRow, 'hash' | 'state' | 'suspend_reason'>[]> {
  return reader.all(STATES_AFTER, { after, limit })
}

/** What keeps a record sees of the SIMs, and how one of them ends for good. */
export function simRegister(parts: SimsParts): SimRegister {
  const { context } = parts
  return {
    states: async (tx, after, limit) =>
      (await statesAfter(context.db.join(tx), after, limit)).map(recordedState),
    remains: async (imsi, tx) => {
      const reader = tx === undefined ? context.db : context.db.join(tx)
      const row = await SIMS.find(reader, { hash: imsi })
      if (row === undefined) return undefined
      const isUnused = row.attached_at_ms === null
      const waitsFor = isAwaited(row) ? awaited(parts, row) : undefined
      return { state: row.state, isUnused, waitsFor }
    },
    revokeIn: async (tx, imsi) => {
      await changeSim(parts, context.db.join(tx), imsi, { action: 'revoke' })
    },
    stripIn: async (tx, imsi) => {
      const own = context.db.join(tx)
      const row = await revoked(own, imsi)
      await forgetBeside(own, row)
      await SIMS.put(own, { ...row, ...EMPTY, secrets_sealed: noCard(parts.vault, row.hash) })
    },
    eraseIn: async (tx, imsi, how) => {
      const own = context.db.join(tx)
      const row = await revoked(own, imsi)
      if (isAwaited(row) && how?.isUnheard !== true)
        throw simStateConflict(`the SIM ${imsi} is revoked, and the HSS must still remove it`)
      await SIMS.remove(own, { hash: imsi })
      await forgetBeside(own, row)
      tx.afterCommit(() => parts.counters.removed(row.state))
    },
  }
}

/** What stays of a row whose holder is forgotten, until the SIM itself is erased: states, dates, rates, and what the HSS is told. */
type Kept =
  | keyof SimLifecycle
  | ('hash' | 'plmn' | 'profile' | 'apns' | 'downlink_bps' | 'uplink_bps' | 'issued_at_ms' | 'expires_at_ms')
  | ('generation' | 'imsi_sealed' | 'secrets_sealed' | 'cap_bps' | 'reach' | 'as_is')
  | ('hss_status' | 'hss_driver' | 'hss_error' | 'hss_synced_at_ms' | 'hss_seq')

/** What a row of a SIM has of its holder, beside IMSI and keys. A new column of `SimRow` is in here or in `Kept`. */
const EMPTY = {
  label: null,
  msisdn: null,
  batch_id: null,
  iccid_last4: null,
  iccid_mac: null,
  quota_bytes: null,
  usage_bytes: 0,
  attached_at_ms: null,
  swapped_at_ms: null,
  replaces: null,
} as const satisfies Pick<SimRow, Exclude<keyof SimRow, Kept>>

async function revoked(own: MutationTx, imsi: string): Promise<SimRow> {
  const row = await SIMS.find(own, { hash: imsi })
  if (row === undefined) throw simNotFound(imsi)
  if (row.state !== 'revoked') throw simStateConflict(`the SIM ${imsi} is ${row.state}; revoke it first`)
  return row
}

/** Removes what is known of a SIM beside its row. */
async function forgetBeside(own: MutationTx, row: SimRow): Promise<void> {
  await removeWords(own, row.hash)
  await forgetSeen(own, row.hash)
  const batch = row.batch_id === null ? undefined : await BATCHES.find(own, { id: row.batch_id })
  if (batch === undefined) return
  // A label that was given at issue is the batch's too, and says whose SIM it was as long as no other one has it.
  const isOthers = batch.label !== null && (await isLabelOfBatch(own, batch.id, batch.label, row.hash))
  const label = isOthers ? batch.label : null
  await BATCHES.put(own, { ...batch, label, sims: batch.sims - 1 })
}

function isAwaited({ hss_status, state }: SimRow): boolean {
  return state !== 'revoked' || hss_status !== 'synced'
}

function awaited({ hss, core }: SimsParts, { state, hss_error: said }: SimRow): string {
  if (state !== 'revoked') return `it is ${state}`
  return hss.view().problem ?? said ?? core.problem() ?? 'the HSS is still to be told'
}
