import type { Reader, Tx } from '@steeple/contracts'
import type { NoticeEvent } from '../rsp/euicc-messages.ts'
import { type CodeRow, HELD, type HeldRow, NOTICES, type NoticeRow } from './rows.ts'

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

/** A notification as it changes the inventory. */
export interface HeldChange {
  readonly event: NoticeEvent
  readonly seq: number
  /** An installation that failed. */
  readonly isFailure: boolean
  readonly nowMs: number
}

/** A profile goes out to an eUICC. */
export async function putDelivered(tx: Tx, code: CodeRow, eidHash: string, nowMs: number): Promise<void> {
  const row: HeldRow = {
    eid_hash: eidHash,
    token: code.token,
    hash: code.hash,
    state: 'delivered',
    seq: -1,
    delivered_at_ms: nowMs,
    installed_at_ms: null,
    enabled_at_ms: null,
    disabled_at_ms: null,
    deleted_at_ms: null,
  }
  if (await HELD.insertNew(tx, row)) return
  const known = await HELD.find(tx, { eid_hash: eidHash, token: code.token })
  await HELD.put(tx, { ...row, seq: known?.seq ?? -1 })
}

/** What the inventory says after a notification: each event keeps its time, the newest number says the state. */
export function heldAfter(row: HeldRow, change: HeldChange): HeldRow {
  const { event, seq, isFailure, nowMs } = change
  const timed: HeldRow = {
    ...row,
    ...(event === 'install' && !isFailure && { installed_at_ms: nowMs }),
    ...(event === 'enable' && { enabled_at_ms: nowMs }),
    ...(event === 'disable' && { disabled_at_ms: nowMs }),
    ...(event === 'delete' && { deleted_at_ms: nowMs }),
  }
  if (seq <= row.seq) return timed
  return { ...timed, seq, state: isFailure ? 'failed' : STATES[event] }
}

const STATES: Readonly<Record<NoticeEvent, HeldRow['state']>> = {
  install: 'installed',
  enable: 'enabled',
  disable: 'disabled',
  delete: 'deleted',
}

export async function heldBy(
  reader: Reader,
  eidHashes: readonly string[],
): Promise<ReadonlyMap<string, readonly HeldRow[]>> {
  const found = new Map<string, HeldRow[]>(eidHashes.map((hash) => [hash, []]))
  for (const eid of eidHashes) {
    const { rows } = await HELD.sound(reader, 'where eid_hash = :eid order by token limit 100', { eid })
    found.get(eid)?.push(...rows)
  }
  return found
}
