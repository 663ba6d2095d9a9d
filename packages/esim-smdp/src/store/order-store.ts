import type { Reader } from '@steeple/contracts'
import { CODES, type CodeRow, HELD } from './rows.ts'

/** The code with that matching id, by its HMAC. */
export async function codeOfMatching(reader: Reader, mac: Uint8Array): Promise<CodeRow | undefined> {
  const [row] = await CODES.select(reader, 'where matching_mac = :mac limit 1', { mac })
  return row
}

/** The oldest order that waits for an eUICC which names no matching id: it must have been linked to it. SGP.22 §3.1.3. */
export async function codeOfEid(reader: Reader, eidHash: string): Promise<CodeRow | undefined> {
  const [row] = await CODES.select(
    reader,
    "where eid_hash = :eid and state in ('released', 'downloaded') order by created_at_ms, token limit 1",
    { eid: eidHash },
  )
  return row
}

/** The codes whose profile has that ICCID, by its HMAC, the newest first. */
export async function codesOfIccid(reader: Reader, mac: Uint8Array): Promise<readonly CodeRow[]> {
  return await CODES.select(reader, 'where iccid_mac = :mac order by created_at_ms desc, token limit 20', {
    mac,
  })
}

/**
 * Whether the profile of a SIM is, as far as is known, on another eUICC, by whatever code: one SIM is never on two. For a
 * phone that is lost its SIM is replaced.
 */
export async function isHeldElsewhere(reader: Reader, hash: string, eidHash: string): Promise<boolean> {
  const rows = await HELD.select(
    reader,
    "where hash = :hash and eid_hash <> :eid and state not in ('deleted', 'failed') limit 1",
    { hash, eid: eidHash },
  )
  return rows.length > 0
}

/** At most `limit` codes that are to expire. */
export async function codesDue(reader: Reader, nowMs: number, limit: number): Promise<readonly CodeRow[]> {
  return await CODES.select(
    reader,
    `where state in ('allocated', 'confirmed', 'released', 'downloaded') and expires_at_ms <= :now
     order by expires_at_ms, token limit :limit`,
    { now: nowMs, limit },
  )
}
