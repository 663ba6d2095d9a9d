import { defineTable, type Reader, type Table, type Tx } from '@steeple/contracts'
import { nameKey } from './user-store.ts'

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
  /** When it was accepted or withdrawn; 0 while it is open. It stays until it would have expired: its hash may come again. */
  readonly ended_at_ms: number
}

/** `ended_at_ms` of one that is open. */
export const OPEN = 0

export const INVITATIONS: Table<InvitationRow> = defineTable(
  'access_invitation',
  [
    'id',
    'token_sha256',
    'name',
    'roles',
    'created_at_ms',
    'expires_at_ms',
    'created_by',
    'parent',
    'ended_at_ms',
  ],
  ['id'],
)

/** The invitation with that hash, also one that has ended, checked. */
export async function findInvitation(reader: Reader, sha256: string): Promise<InvitationRow | undefined> {
  const rows = await INVITATIONS.select(reader, 'where token_sha256 = :sha256', { sha256 })
  return rows[0]
}

/** The open invitation with that id, checked. */
export async function findInvitationById(reader: Reader, id: string): Promise<InvitationRow | undefined> {
  const row = await INVITATIONS.find(reader, { id })
  return row?.ended_at_ms === OPEN ? row : undefined
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
    'where expires_at_ms > :now_ms and ended_at_ms = 0 and id > :after_id order by id limit :limit',
    { now_ms: nowMs, after_id: afterId, limit },
  )
}

/** Ends the open invitations of a name, of one maker where that is given. */
export async function endInvitationsOf(
  tx: Tx,
  of: Pick<InvitationRow, 'name'> & Partial<Pick<InvitationRow, 'created_by'>>,
  nowMs: number,
): Promise<void> {
  for (const { id, name, created_by } of await allInvitations(tx)) {
    const isOf = nameKey(name) === nameKey(of.name) && (of.created_by ?? created_by) === created_by
    if (isOf) await endInvitation(tx, id, nowMs)
  }
}

/** Uses up an invitation; false when another was faster. */
export async function endInvitation(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  const row = await findInvitationById(tx, id)
  if (row === undefined) return false
  return await INVITATIONS.swap(tx, row, { ...row, ended_at_ms: nowMs }, 'ended_at_ms')
}

/** Removes the invitations that end with that credential. */
export async function removeInvitationsUnder(tx: Tx, parent: string): Promise<void> {
  await tx.run('delete from access_invitation where parent = :parent', { parent })
}

/** Removes the invitations that a user has made. */
export async function removeInvitationsBy(tx: Tx, userId: string): Promise<void> {
  await tx.run('delete from access_invitation where created_by like :naming', { naming: `%"${userId}"%` })
}

/** Those that are open. */
export function allInvitations(reader: Reader): Promise<readonly InvitationRow[]> {
  return INVITATIONS.select(reader, 'where ended_at_ms = 0')
}

/** Brings those that have ended in another store, which a hub may send again. Leaves what is here already. */
export async function keepEnded(tx: Tx, from: Reader): Promise<void> {
  const { rows } = await INVITATIONS.sound(from, 'where ended_at_ms > 0')
  for (const row of rows)
    if ((await INVITATIONS.find(tx, { id: row.id })) === undefined) await INVITATIONS.insert(tx, row)
}

/** Removes the invitations that are over. */
export async function removeExpiredInvitations(tx: Tx, nowMs: number): Promise<void> {
  await tx.run('delete from access_invitation where expires_at_ms <= :now_ms', { now_ms: nowMs })
}
