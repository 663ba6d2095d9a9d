import { randomBytes, randomUUID } from 'node:crypto'
import {
  closedItemsRef,
  defineError,
  type ErrorFactory,
  expandRoles,
  type MutationTx,
  msFromDuration,
  type Principal,
  type Reader,
  type Reply,
  type Request,
  type Role,
  validationFailed,
} from '@steeple/contracts'
import { tokenSha256 } from '../authenticator.ts'
import { INVITATION } from '../closed-kinds.ts'
import { lastingParent } from '../derived/parent.ts'
import { isBoundAlive } from '../derived/source.ts'
import { createdByText, rolesNow } from '../token-owner.ts'
import { findById } from '../token-store.ts'
import { qrRows } from './accept-page.ts'
import { findInvitation, type InvitationRow, insertInvitation, removeInvitation } from './invitation-store.ts'
import type { Attempt } from './lockout.ts'
import { networkOf } from './network-of.ts'
import { drawUser, storeUser, userExists } from './new-user.ts'
import type { People } from './people.ts'
import { newUserRecord } from './user-record.ts'
import { findUser, findUserByName, principalOf } from './user-store.ts'

/** One answer for an unknown, used and expired invitation. */
export const invitationInvalid: ErrorFactory = defineError(
  'invitation_invalid',
  401,
  'the invitation is unknown, used or expired; ask for another one',
)

/** What an invitation is asked for with. */
export interface InvitationWish {
  readonly name: string
  readonly roles: readonly Role[]
  /** A duration; `DEFAULT_LIFE` when absent. */
  readonly expires_in?: string | undefined
}

/** A new invitation: the token to show once, and the row to store. */
export interface NewInvitation {
  readonly token: string
  readonly row: InvitationRow
}

/** What accepts an invitation. */
export interface AcceptBody {
  readonly token: string
  readonly password: string
  /** The answer has the QR code of the authenticator's URI, too. */
  readonly with_qr?: boolean
}

/** How long an invitation is good unless something else is asked for. */
export const DEFAULT_LIFE = '72h'
const MAX_LIFE = '30d'
const SECRET_BYTES = 32
/** What failures with invitations count as. No user has such a name. */
const NO_NAME = '(invitation)'

/** Draws an invitation. Throws `validation_failed` for a life that is none. */
export function drawInvitation(people: People, wish: InvitationWish, maker: Principal): NewInvitation {
  const nowMs = people.context.clock.nowMs()
  const livesMs = msFromDuration(wish.expires_in ?? DEFAULT_LIFE)
  if (livesMs === undefined || livesMs > (msFromDuration(MAX_LIFE) ?? 0)) {
    const message = `must be more than zero and at most ${MAX_LIFE}`
    throw validationFailed(`/expires_in ${message}`, { details: [{ pointer: '/expires_in', message }] })
  }
  const token = `svci_${randomBytes(SECRET_BYTES).toString('base64url')}`
  const row: InvitationRow = {
    id: randomUUID(),
    token_sha256: tokenSha256(token),
    name: wish.name,
    roles: JSON.stringify(wish.roles),
    created_at_ms: nowMs,
    expires_at_ms: nowMs + livesMs,
    created_by: createdByText(maker),
    parent: lastingParent(maker),
  }
  return { token, row }
}

/** Stores an invitation. Throws `user_exists` when its name is taken already. */
export async function storeInvitation(tx: MutationTx, row: InvitationRow): Promise<void> {
  if ((await findUserByName(tx, row.name)) !== undefined) throw userExists(row.name)
  await insertInvitation(tx, row)
}

/**
 * Makes the user that an invitation is for. It is void when the user who made it is gone or has lost a role of it, and when the
 * token that made it is gone or over.
 *
 * Throws `invitation_invalid`; `rate_limited` for an address that has tried too often.
 */
export async function acceptInvitation(
  people: People,
  request: Request<unknown, unknown, AcceptBody>,
): Promise<Reply> {
  const { context, lockout } = people
  const attempt: Attempt = { name: NO_NAME, network: networkOf(request.peerAddress), userId: undefined }
  const invitation = await findInvitation(context.db, tokenSha256(request.body.token))
  if (invitation === undefined || !(await isGood(people, invitation))) {
    await lockout.beginOfNetwork(attempt)
    const { network } = attempt
    return people.failures.refuse(request, { target: 'nobody', network, error: invitationInvalid() })
  }
  const user = await drawUser(people, {
    name: invitation.name,
    // The column is written by this package alone and its row is checksummed.
    roles: JSON.parse(invitation.roles) as readonly Role[],
    password: request.body.password,
    createdBy: invitation.created_by,
  })
  const qr = request.body.with_qr === true ? { totp_qr: await qrRows(user.shown.totp_uri) } : {}
  return request.mutate(user.row.id, async (tx) => {
    if (!(await removeInvitation(tx, invitation.id))) throw invitationInvalid()
    await storeUser(tx, user)
    tx.audit({
      detail: { name: user.row.name, roles: JSON.parse(user.row.roles), invitation: invitation.id },
    })
    return { status: 201, body: { ...(await newUserRecord(tx, user.row, user.shown)), ...qr }, sealed: true }
  })
}

/** In time, and from somebody who could still give these roles. */
async function isGood(
  people: Pick<People, 'context' | 'environment'>,
  { id, expires_at_ms, created_by, roles, parent }: InvitationRow,
): Promise<boolean> {
  const { context, environment } = people
  const nowMs = context.clock.nowMs()
  if (expires_at_ms <= nowMs || !(await isBoundAlive({ reader: context.db, nowMs, environment }, parent)))
    return false
  if ((await context.use(closedItemsRef).among(INVITATION, [id])).has(id)) return false
  // Both columns are written by this package alone and their row is checksummed.
  const maker = JSON.parse(created_by) as Maker
  const held = await rolesOfMaker(context.db, maker, nowMs)
  return (
    held === 'any' || [...expandRoles(JSON.parse(roles) as readonly Role[])].every((role) => held.has(role))
  )
}

/** Who made an invitation, as it says. */
interface Maker {
  readonly kind: Principal['kind']
  readonly id: string
}

/**
 * The roles that a maker has by now: those of the person, who also speaks by certificates, those of a token that still opens
 * something, and any for who needs no row here.
 */
export async function rolesOfMaker(
  reader: Reader,
  { kind, id }: Maker,
  nowMs: number,
): Promise<ReadonlySet<Role> | 'any'> {
  if (kind === 'token') {
    const token = await findById(reader, id)
    const isOver = token === undefined || (token.expires_at_ms !== null && token.expires_at_ms <= nowMs)
    return isOver ? new Set() : rolesNow(reader, token)
  }
  if (kind !== 'user' && kind !== 'cli') return 'any'
  const user = await findUser(reader, id)
  return user === undefined ? new Set() : principalOf(user).roles
}
