import { createHash } from 'node:crypto'
import type { Testbed } from '@steeple/testkit'
import { CODES, HELD, type HeldRow } from '../../src/store/rows.ts'
import { contextOf } from './bed.ts'

/** Puts the rows in place that a download by that eUICC leaves behind, and what it has told since. */
export async function deliver(
  bed: Testbed,
  token: string,
  eid: string,
  state: HeldRow['state'] = 'installed',
): Promise<void> {
  const { db, clock } = contextOf(bed)
  const eid_hash = createHash('sha256').update(eid).digest('hex')
  await db.write(async (tx) => {
    const row = await CODES.find(tx, { token })
    if (row === undefined) throw new Error(`there is no code ${token}`)
    const nowMs = Math.floor(clock.nowMs())
    await CODES.put(tx, { ...row, state: 'installed', downloads: 1, eid_hash, eid_last4: eid.slice(-4) })
    await HELD.put(tx, {
      eid_hash,
      token,
      hash: row.hash,
      seq: 1,
      state,
      delivered_at_ms: nowMs,
      installed_at_ms: nowMs,
      enabled_at_ms: null,
      disabled_at_ms: null,
      deleted_at_ms: state === 'deleted' ? nowMs : null,
    })
  })
}
