import { defineTable, type Page, type Reader, type Table, type Tx } from '@steeple/contracts'
import { newestFirst } from '../newest-store.ts'

/** A certificate of an operator as issued. Times are ms since the epoch. */
export interface CertificateRow {
  /** As `IssuedCertificate.serial`. */
  readonly serial: string
  readonly user_id: string
  /** The user's name as the certificate says it. */
  readonly name: string
  /** What whoever asked for it calls it, e.g. the machine that it is on. */
  readonly label: string
  readonly issued_at_ms: number
  readonly expires_at_ms: number
  readonly revoked_at_ms: number | null
  /** JSON of the principal that made it: `{kind, id, name}`. */
  readonly created_by: string
  /** The credential that it ends with: see `derived/source.ts`. Null: none. */
  readonly parent: string | null
}

export const CERTIFICATES: Table<CertificateRow> = defineTable(
  'access_certificate',
  [
    'serial',
    'user_id',
    'name',
    'label',
    'issued_at_ms',
    'expires_at_ms',
    'revoked_at_ms',
    'created_by',
    'parent',
  ],
  ['serial'],
)

const OF_USER = 'where user_id = :user_id'
const OVER = 'where expires_at_ms < :before_ms order by expires_at_ms limit :limit'

/** Marks a certificate as revoked; one that is revoked stays as it is. */
export async function revokeCertificate(tx: Tx, row: CertificateRow, revokedAtMs: number): Promise<void> {
  if (row.revoked_at_ms === null) await CERTIFICATES.put(tx, { ...row, revoked_at_ms: revokedAtMs })
}

/** The certificates of a user that are not revoked. */
export function certificatesOf(reader: Reader, userId: string): Promise<readonly CertificateRow[]> {
  return CERTIFICATES.select(reader, `${OF_USER} and revoked_at_ms is null`, { user_id: userId })
}

/** The certificates that end with that credential and are not revoked. */
export function certificatesUnder(reader: Reader, parent: string): Promise<readonly CertificateRow[]> {
  return CERTIFICATES.select(reader, 'where parent = :parent and revoked_at_ms is null', { parent })
}

/** The certificates of a user on a page, newest first, and one more where there are more. */
export function listCertificates(
  reader: Reader,
  userId: string,
  page: Page,
): Promise<readonly CertificateRow[]> {
  const listing = { at: 'issued_at_ms', id: 'serial', where: ['user_id = :user_id'] }
  return newestFirst(CERTIFICATES, reader, page, { ...listing, params: { user_id: userId } })
}

/** How many certificates of a user are neither revoked nor over. */
export async function countLive(reader: Reader, userId: string, nowMs: number): Promise<number> {
  const row = await reader.get<{ readonly live: number }>(
    `select count(*) as live from access_certificate
      where user_id = :user_id and revoked_at_ms is null and expires_at_ms > :now_ms`,
    { user_id: userId, now_ms: nowMs },
  )
  return Number(row?.live ?? 0)
}

/** Removes at most `limit` certificates that were over before `beforeMs`; says how many. */
export async function removeOver(tx: Tx, beforeMs: number, limit: number): Promise<number> {
  const rows = await CERTIFICATES.select(tx, OVER, { before_ms: beforeMs, limit })
  for (const { serial } of rows) await CERTIFICATES.remove(tx, { serial })
  return rows.length
}
