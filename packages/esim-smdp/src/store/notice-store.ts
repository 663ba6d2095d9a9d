import type { Tx } from '@steeple/contracts'
import { NOTICES, type NoticeRow } from './rows.ts'

/** Notifications of one eUICC that are kept. Older ones of it can say nothing new: see `heldAfter`. */
const MOST_OF_EUICC = 500
const OLD = `delete from esim_smdp_notice where eid_hash = :eid and seq in
  (select seq from esim_smdp_notice where eid_hash = :eid order by seq desc limit 50 offset ${MOST_OF_EUICC})`

/** Keeps a notification; false when one with its number is there. */
export async function putNotice(tx: Tx, row: NoticeRow): Promise<boolean> {
  if (!(await NOTICES.insertNew(tx, row))) return false
  // Numbers are counted from the beginning, and each is there once: below this one there cannot be more.
  if (row.seq >= MOST_OF_EUICC) await tx.run(OLD, { eid: row.eid_hash })
  return true
}
