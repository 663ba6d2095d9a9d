import { defineTable, type Reader, rowSum, type Table, type TableSpec, type Tx } from '@steeple/contracts'

/** A passkey as stored: its public part. Times are ms since the epoch. */
export interface PasskeyRow {
  /** The credential's id, base64url. */
  readonly id: string
  readonly user_id: string
  /** The host name that it is for. */
  readonly rp_id: string
  readonly label: string
  /** COSE_Key, base64url. RFC 9052 §7. */
  readonly public_key: string
  /** Signatures that the authenticator has counted; 0 when it does not count. */
  readonly counter: number
  /** JSON list of how it is reached. */
  readonly transports: string
  readonly created_at_ms: number
  readonly last_used_at_ms: number | null
  /** When it was found to have been copied. */
  readonly disabled_at_ms: number | null
}

interface UsedRow {
  readonly challenge_sha256: string
  readonly expires_at_ms: number
}

export const PASSKEYS: Table<PasskeyRow> = defineTable(
  'access_passkey',
  [
    'id',
    'user_id',
    'rp_id',
    'label',
    'public_key',
    'counter',
    'transports',
    'created_at_ms',
    'last_used_at_ms',
    'disabled_at_ms',
  ],
  ['id'],
)
const USED: Table<UsedRow> = defineTable(
  'access_passkey_used',
  ['challenge_sha256', 'expires_at_ms'],
  ['challenge_sha256'],
)

/** The tables of passkeys, for the integrity scan. */
export const PASSKEY_TABLES: readonly TableSpec[] = [PASSKEYS, USED]

/** In the place of a challenge's digest: a restore. */
const RESTORED = 'restored'
const COUNT_UP = `update access_passkey
  set counter = :counter, last_used_at_ms = :last_used_at_ms, row_sum = :row_sum
  where id = :id and counter = :before and disabled_at_ms is null`
const OVER = 'where expires_at_ms < :before_ms order by expires_at_ms limit :limit'

/** Removes all passkeys of a user; says how many. */
export async function removePasskeysOf(tx: Tx, userId: string): Promise<number> {
  const rows = await passkeysOf(tx, userId)
  for (const { id } of rows) await PASSKEYS.remove(tx, { id })
  return rows.length
}

/** The passkeys of a user, oldest first. Their number is bounded where they are added. */
export function passkeysOf(reader: Reader, userId: string): Promise<readonly PasskeyRow[]> {
  return PASSKEYS.select(reader, 'where user_id = :user_id order by created_at_ms, id', { user_id: userId })
}

/** Writes down a use; false when another use was faster, or when the passkey is disabled or gone. */
export async function countUse(tx: Tx, row: PasskeyRow, counter: number, nowMs: number): Promise<boolean> {
  const used: PasskeyRow = { ...row, counter, last_used_at_ms: nowMs }
  const changed = await tx.run(COUNT_UP, {
    id: row.id,
    before: row.counter,
    counter,
    last_used_at_ms: nowMs,
    row_sum: rowSum(PASSKEYS.columns, { ...used }),
  })
  return changed > 0
}

/** Lets a passkey open nothing any more; false when it is so already, or gone. */
export async function disablePasskey(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  const row = await PASSKEYS.find(tx, { id })
  if (row === undefined || row.disabled_at_ms !== null) return false
  await PASSKEYS.put(tx, { ...row, disabled_at_ms: nowMs })
  return true
}

/** Marks a challenge as used; false when it was used before. */
export function useChallenge(tx: Tx, sha256: string, expiresAtMs: number): Promise<boolean> {
  return USED.insertNew(tx, { challenge_sha256: sha256, expires_at_ms: expiresAtMs })
}

/** Whether a challenge was used, or was drawn before a restore. */
export async function isChallengeUsed(reader: Reader, sha256: string, expiresAtMs: number): Promise<boolean> {
  if ((await USED.find(reader, { challenge_sha256: sha256 })) !== undefined) return true
  const restored = await USED.find(reader, { challenge_sha256: RESTORED })
  return restored !== undefined && expiresAtMs <= restored.expires_at_ms
}

/** Uses up every challenge that ends until then. */
export async function useChallengesUntil(tx: Tx, expiresAtMs: number): Promise<void> {
  await USED.put(tx, { challenge_sha256: RESTORED, expires_at_ms: expiresAtMs })
}

export function allPasskeys(reader: Reader): Promise<readonly PasskeyRow[]> {
  return PASSKEYS.select(reader, '')
}

/** Takes over from another copy of a passkey what tells a copied authenticator: the greater count, and that it was found. */
export async function keepNewerCount(tx: Tx, other: PasskeyRow): Promise<void> {
  const row = await PASSKEYS.find(tx, { id: other.id })
  if (row === undefined) return
  const counter = Math.max(row.counter, other.counter)
  await PASSKEYS.put(tx, { ...row, counter, disabled_at_ms: row.disabled_at_ms ?? other.disabled_at_ms })
}

/** Removes at most `limit` marks of challenges that were over before `beforeMs`; says how many. */
export async function removeUsed(tx: Tx, beforeMs: number, limit: number): Promise<number> {
  const rows = await USED.select(tx, OVER, { before_ms: beforeMs, limit })
  for (const { challenge_sha256 } of rows) await USED.remove(tx, { challenge_sha256 })
  return rows.length
}
