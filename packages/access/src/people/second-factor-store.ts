import { defineTable, type Reader, type Table, type TableSpec, type Tx } from '@steeple/contracts'

/** The shared secret of a user's authenticator. */
interface TotpRow {
  readonly user_id: string
  /** The secret's octets, sealed with the vault; the AAD is `access_totp/<user_id>`. */
  readonly secret: Uint8Array
  /** The newest time step whose code was accepted: it and all before are used up. */
  readonly last_step: number
  readonly created_at_ms: number
}

/** One recovery code of a user: its hash alone. */
interface RecoveryRow {
  readonly user_id: string
  readonly code_sha256: string
  /** `CLOSED`: by a restore, after which it counts as used until it is reopened. */
  readonly used_at_ms: number | null
}

const CLOSED = -1

export const TOTPS: Table<TotpRow> = defineTable(
  'access_totp',
  ['user_id', 'secret', 'last_step', 'created_at_ms'],
  ['user_id'],
)
const CODES: Table<RecoveryRow> = defineTable(
  'access_recovery_code',
  ['user_id', 'code_sha256', 'used_at_ms'],
  ['user_id', 'code_sha256'],
)

/** The tables of the second factor, for the integrity scan. */
export const SECOND_FACTOR_TABLES: readonly TableSpec[] = [TOTPS, CODES]

/** Uses up a time step of that authenticator; false when it or a later one was used before, or there is another now. */
export async function claimStep(tx: Tx, { user_id, secret }: TotpRow, step: number): Promise<boolean> {
  const row = await TOTPS.find(tx, { user_id })
  if (row === undefined || row.last_step >= step || !Buffer.from(row.secret).equals(secret)) return false
  await TOTPS.put(tx, { ...row, last_step: step })
  return true
}

/** The recovery code with that hash, used or not. */
export function findRecoveryCode(
  reader: Reader,
  userId: string,
  codeSha256: string,
): Promise<RecoveryRow | undefined> {
  return CODES.find(reader, { user_id: userId, code_sha256: codeSha256 })
}

/** Whether nobody is known to have used it. */
export function isUnused({ used_at_ms }: RecoveryRow): boolean {
  return used_at_ms === null || used_at_ms === CLOSED
}

/** Lets the codes that are left count as used; gives the users whose they are. */
export async function closeRecoveryCodes(tx: Tx): Promise<ReadonlySet<string>> {
  const rows = await CODES.select(tx, 'where used_at_ms is null')
  for (const row of rows) await CODES.put(tx, { ...row, used_at_ms: CLOSED })
  return new Set(rows.map(({ user_id }) => user_id))
}

/** Uses up every time step until `step`, of everybody. */
export async function useStepsUntil(tx: Tx, step: number): Promise<void> {
  for (const row of await TOTPS.select(tx, 'where last_step < :step', { step }))
    await TOTPS.put(tx, { ...row, last_step: step })
}

/** Uses up a recovery code; false when it was used before. */
export async function claimRecoveryCode(
  tx: Tx,
  userId: string,
  codeSha256: string,
  nowMs: number,
): Promise<boolean> {
  const row = await findRecoveryCode(tx, userId, codeSha256)
  if (row === undefined || !isUnused(row)) return false
  await CODES.put(tx, { ...row, used_at_ms: nowMs })
  return true
}

/** Puts other recovery codes in place of all that the user had. */
export async function replaceRecoveryCodes(
  tx: Tx,
  userId: string,
  codesSha256: readonly string[],
): Promise<void> {
  await tx.run('delete from access_recovery_code where user_id = :user_id', { user_id: userId })
  for (const code_sha256 of codesSha256)
    await CODES.insert(tx, { user_id: userId, code_sha256, used_at_ms: null })
}

/** How many recovery codes of a user are left. */
export async function countRecoveryCodes(reader: Reader, userId: string): Promise<number> {
  const row = await reader.get<{ readonly codes: number }>(
    'select count(*) as codes from access_recovery_code where user_id = :user_id and used_at_ms is null',
    { user_id: userId },
  )
  return Number(row?.codes ?? 0)
}

/** Removes authenticator and recovery codes of a user. */
export async function removeSecondFactor(tx: Tx, userId: string): Promise<void> {
  await TOTPS.remove(tx, { user_id: userId })
  await tx.run('delete from access_recovery_code where user_id = :user_id', { user_id: userId })
}
