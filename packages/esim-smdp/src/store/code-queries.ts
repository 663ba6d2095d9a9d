import { listed, type Reader } from '@steeple/contracts'
import { CODES, type CodeRow, type CodeState, HELD, type HeldRow } from './rows.ts'

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
    `where ${OPEN} and expires_at_ms <= :now order by expires_at_ms, token limit :limit`,
    { now: nowMs, limit },
  )
}

/** States in which a code can still be downloaded or released. */
export const OPEN_STATES: readonly CodeState[] = ['allocated', 'confirmed', 'released', 'downloaded']
const OPEN = "state in ('allocated', 'confirmed', 'released', 'downloaded')"

/** SIMs and codes that are looked at in one go. */
export const AT_ONCE = 100
/** What the list of codes may be narrowed to. */
export interface CodeFilter {
  readonly state?: CodeState
  readonly batch_id?: string
  readonly imsi?: string
}

/** A place in the list, which is newest first. */
export interface CodePosition {
  readonly createdAtMs: number
  readonly token: string
}

/** At most `limit` codes behind a place, newest first. Throws `store_corrupt`. */
export function listCodes(
  reader: Reader,
  filter: CodeFilter,
  limit: number,
  after: CodePosition | undefined,
): Promise<readonly CodeRow[]> {
  const where: string[] = []
  const params: Record<string, string | number> = { limit }
  const equal = (column: string, value: string | undefined): void => {
    if (value === undefined) return
    where.push(`${column} = :${column}`)
    params[column] = value
  }
  equal('state', filter.state)
  equal('batch_id', filter.batch_id)
  equal('hash', filter.imsi)
  if (after !== undefined) {
    where.push('(created_at_ms < :at_ms or (created_at_ms = :at_ms and token < :token))')
    params.at_ms = after.createdAtMs
    params.token = after.token
  }
  const text = where.length === 0 ? '' : `where ${where.join(' and ')} `
  return CODES.select(reader, `${text}order by created_at_ms desc, token desc limit :limit`, params)
}

/** The codes of some SIMs, in no order. Throws `store_corrupt`. */
export async function codesOfSims(reader: Reader, hashes: readonly string[]): Promise<readonly CodeRow[]> {
  if (hashes.length === 0) return []
  const { where, params } = listed('hash', hashes)
  return await CODES.select(reader, `where ${where}`, params)
}

/** Where the profiles of some codes are, in no order. Throws `store_corrupt`. */
export async function heldOfCodes(reader: Reader, tokens: readonly string[]): Promise<readonly HeldRow[]> {
  if (tokens.length === 0) return []
  const { where, params } = listed('token', tokens)
  return await HELD.select(reader, `where ${where}`, params)
}

/** At most `limit` open codes with a token behind `after`, by token. Throws `store_corrupt`. */
export function openCodes(reader: Reader, after: string, limit: number): Promise<readonly CodeRow[]> {
  return CODES.select(reader, `where ${OPEN} and token > :after order by token limit :limit`, {
    after,
    limit,
  })
}

/** At most `limit` codes of a batch that can be downloaded, with a token behind `after`, by token. */
export function printableCodes(
  reader: Reader,
  batchId: string,
  after: string,
  limit: number,
): Promise<readonly CodeRow[]> {
  const rest =
    "where batch_id = :batch_id and state = 'released' and token > :after order by token limit :limit"
  return CODES.select(reader, rest, { batch_id: batchId, after, limit })
}

/** How many codes are in each state. */
export async function countCodes(reader: Reader): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.all<{ readonly state: string; readonly codes: number }>(
    'select state, count(*) as codes from esim_smdp_code group by state',
  )
  // PostgreSQL counts in texts.
  return new Map(rows.map(({ state, codes }) => [state, Number(codes)]))
}
