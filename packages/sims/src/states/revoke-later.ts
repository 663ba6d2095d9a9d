import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Plugin, Tx } from '@steeple/contracts'
import { SIMS, type SimRow, simsOf, takenAmong } from '../store/sim-store.ts'
import { unsynced, wantedInHss } from './change.ts'

/** The store that a backup of the same node is about to replace. */
type Present = NonNullable<Parameters<NonNullable<Plugin['restored']>>[1]['present']>

const PAGE = 500
/** One that no HSS has ever taken is nowhere but in the store. */
const IN_HSS =
  "select hash from sims_sim where hss_driver <> 'none' and hash > :after order by hash limit :limit"

/**
 * Takes over as revoked what the HSS holds by the present store and a backup knows nothing of: SIMs that were issued after
 * it. Their subscribers would stay on air otherwise, and nobody could see or suspend them.
 */
export async function revokeLater(tx: Tx, present: Present | undefined): Promise<void> {
  if (present === undefined) return
  for (let after = ''; ; ) {
    const page = await present.db.all<{ readonly hash: string }>(IN_HSS, { after, limit: PAGE })
    const hashes = page.map(({ hash }) => hash)
    const known = await takenAmong(tx, hashes)
    const later = await simsOf(
      present.db,
      hashes.filter((hash) => !known.has(hash)),
    )
    for (const row of later) {
      const revoked = revokedFrom(row, present)
      if (revoked !== undefined) await SIMS.insert(tx, revoked)
    }
    const last = hashes.at(-1)
    if (last === undefined || hashes.length < PAGE) return
    after = last
    await nextTurn()
  }
}

/** Undefined when it is not in the HSS any more, or cannot be opened. Its batch and its number are not the backup's. */
function revokedFrom(row: SimRow, { reseal }: Present): SimRow | undefined {
  if (wantedInHss(row.state) === 'absent' && row.hss_status === 'synced') return undefined
  // It was in the HSS before it was ours, and is a subscriber of nobody here again.
  if (row.found_sealed !== null) return undefined
  const rowId = `sims_sim/${row.hash}`
  const [imsi, secrets] = [reseal(row.imsi_sealed, rowId), reseal(row.secrets_sealed, rowId)]
  if (imsi === undefined || secrets === undefined) return undefined
  return {
    ...row,
    ...unsynced(row),
    state: 'revoked',
    previous_state: null,
    suspend_reason: null,
    batch_id: null,
    msisdn: null,
    iccid_mac: null,
    imsi_sealed: imsi,
    secrets_sealed: secrets,
  }
}
