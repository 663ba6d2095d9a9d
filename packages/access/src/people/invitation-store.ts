import { defineTable, type Reader, type Table, type TableSpec, type Tx } from '@steeple/contracts'

/** An invitation that was not accepted yet: the hash of its token, never itself. Times are ms since the epoch. */
export interface InvitationRow {
  readonly id: string
  readonly token_sha256: string
  readonly name: string
  /** JSON list of roles. */
  readonly roles: string
  readonly created_at_ms: number
  readonly expires_at_ms: number
  /** JSON of the principal that made it: `{kind, id, name}`. */
  readonly created_by: string
  /** The credential that it ends with: see `derived/source.ts`. Null: none. */
  readonly parent: string | null
}

const INVITATIONS: Table<InvitationRow> = defineTable(
  'access_invitation',
  ['id', 'token_sha256', 'name', 'roles', 'created_at_ms', 'expires_at_ms', 'created_by', 'parent'],
  ['id'],
)

/** The table of invitations, for the integrity scan. */
export const INVITATION_TABLES: readonly TableSpec[] = [INVITATIONS]

/** The invitation with that hash, checked. */
export async function findInvitation(reader: Reader, sha256: string): Promise<InvitationRow | undefined> {
  const rows = await INVITATIONS.select(reader, 'where token_sha256 = :sha256', { sha256 })
  return rows[0]
}

/** The invitation with that id, checked. */
export function findInvitationById(reader: Reader, id: string): Promise<InvitationRow | undefined> {
  return INVITATIONS.find(reader, { id })
}

/** At most `limit` invitations that are good still, behind the id `afterId`. */
export function listInvitations(
  reader: Reader,
  nowMs: number,
  limit: number,
  afterId: string,
): Promise<readonly InvitationRow[]> {
  return INVITATIONS.select(
    reader,
    'where expires_at_ms > :now_ms and id > :after_id order by id limit :limit',
    { now_ms: nowMs, after_id: afterId, limit },
  )
}

export function insertInvitation(tx: Tx, row: InvitationRow): Promise<void> {
  return INVITATIONS.insert(tx, row)
}

/** Uses up an invitation; false when another was faster. */
export function removeInvitation(tx: Tx, id: string): Promise<boolean> {
  return INVITATIONS.remove(tx, { id })
}

/** Removes the invitations that end with that credential. */
export async function removeInvitationsUnder(tx: Tx, parent: string): Promise<void> {
  await tx.run('delete from access_invitation where parent = :parent', { parent })
}

/** Removes the invitations that a user has made. */
export async function removeInvitationsBy(tx: Tx, userId: string): Promise<void> {
  await tx.run('delete from access_invitation where created_by like :naming', { naming: `%"${userId}"%` })
}

export function allInvitations(reader: Reader): Promise<readonly InvitationRow[]> {
  return INVITATIONS.select(reader, '')
}

/** Removes the invitations that are over. */
export async function removeExpiredInvitations(tx: Tx, nowMs: number): Promise<void> {
  await tx.run('delete from access_invitation where expires_at_ms <= :now_ms', { now_ms: nowMs })
}
