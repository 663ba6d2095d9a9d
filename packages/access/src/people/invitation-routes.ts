import { randomBytes, randomUUID } from 'node:crypto'
import {
  closedItemsRef,
  DURATION_PATTERN,
  defineError,
  type ErrorFactory,
  expandRoles,
  fieldRefused,
  type JsonSchema,
  type MutationTx,
  msFromDuration,
  msFromTimestamp,
  networkOf,
  objectSchema,
  PAGE_QUERY,
  type Principal,
  pageFrom,
  pageSchema,
  type Reader,
  type Reply,
  type Request,
  type Role,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { tokenSha256 } from '../authenticator.ts'
import { INVITATION } from '../closed-kinds.ts'
import { lastingParent } from '../derived/parent.ts'
import { isBoundAlive } from '../derived/source.ts'
import { BY_SCHEMA, ID_PARAMS, type IdParams, requireGivable, requireSameOrigin } from '../route-parts.ts'
import { createdByText, rolesNow } from '../token-owner.ts'
import { TOKENS } from '../token-store.ts'
import {
  endInvitation,
  endInvitationsOf,
  findInvitation,
  findInvitationById,
  INVITATIONS,
  type InvitationRow,
  listInvitations,
  OPEN,
} from './invitation-store.ts'
import type { Attempt } from './lockout.ts'
import type { People } from './people.ts'
import { drawUser, userExists } from './user-life.ts'
import { NEW_PASSWORD_SCHEMA, NEW_USER_SCHEMA, USER_NAME_SCHEMA, USER_ROLES_SCHEMA } from './user-record.ts'
import { findUserByName, principalOf, USERS } from './user-store.ts'

/** Where an invitation is accepted: by a person's browser (GET) and by the page and programs (POST). */
const INVITATION_PATH = '/v1/auth/invitation'

/**
 * Leads a browser to the page of the console on which an invitation is accepted. Browsers take along what is behind #, which they send to
 * nobody. RFC 9110 §10.2.2.
 */
function acceptPageRoute(): Route {
  return route({
    method: 'GET',
    path: INVITATION_PATH,
    role: 'public',
    summary: 'Open the page that accepts an invitation',
    description:
      'The link is this address, # and the token of the invitation. Browsers send nothing after # to a server. It leads ' +
      'to a page of the console; without the console use svc user accept.',
    schema: { status: 302 },
    handle: async () => ({ status: 302, headers: { Location: '/invitation' } }),
  })
}

/** A QR code as rows of modules, `1` for black, without the white around it. */
async function qrRows(text: string): Promise<readonly string[]> {
  const { create } = await import('qrcode')
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const cells = [...modules.data].map((cell) => (cell === 1 ? '1' : '0')).join('')
  return Array.from({ length: modules.size }, (_, y) => cells.slice(y * modules.size, (y + 1) * modules.size))
}

/** One answer for an unknown, used and expired invitation. */
const invitationInvalid: ErrorFactory = defineError(
  'invitation_invalid',
  401,
  'the invitation is unknown, used or expired; ask for another one',
)

/** What an invitation is asked for with. */
interface InvitationWish {
  readonly name: string
  readonly roles: readonly Role[]
  /** A duration; `DEFAULT_LIFE` when absent. */
  readonly expires_in?: string | undefined
}

interface AcceptBody {
  readonly token: string
  readonly password: string
  /** The answer has the QR code of the authenticator's URI, too. */
  readonly with_qr?: boolean
}

/** How long an invitation is good unless something else is asked for. */
const DEFAULT_LIFE = '72h'
const MAX_LIFE = '30d'
const SECRET_BYTES = 32
/** What failures with invitations count as. No user has such a name. */
const NO_NAME = '(invitation)'

/** A new invitation, good for so long. Throws `validation_failed` for a life that is none. */
function newInvitation(
  people: People,
  maker: Principal,
  {
    name,
    roles,
    token_sha256,
  }: { readonly name: string; readonly roles: readonly Role[]; readonly token_sha256: string },
  { livesMs, pointer }: { readonly livesMs: number | undefined; readonly pointer: string },
): InvitationRow {
  const nowMs = people.context.clock.nowMs()
  if (livesMs === undefined || livesMs <= 0 || livesMs > (msFromDuration(MAX_LIFE) ?? 0)) {
    throw fieldRefused(pointer, `must be more than zero and at most ${MAX_LIFE} from now`)
  }
  return {
    id: randomUUID(),
    token_sha256,
    name,
    roles: JSON.stringify(roles),
    created_at_ms: nowMs,
    expires_at_ms: nowMs + livesMs,
    created_by: createdByText(maker),
    parent: lastingParent(maker),
    ended_at_ms: OPEN,
  }
}

/** Stores an invitation. Throws `user_exists` when its name is taken already. */
async function storeInvitation(tx: MutationTx, row: InvitationRow): Promise<void> {
  if ((await findUserByName(tx, row.name)) !== undefined) throw userExists(row.name)
  await INVITATIONS.insert(tx, row)
}

/**
 * Makes the user that an invitation is for. It is void when the user who made it is gone or has lost a role of it, and when the
 * token that made it is gone or over.
 *
 * Throws `invitation_invalid`; `rate_limited` for an address that has tried too often.
 */
async function acceptInvitation(
  people: People,
  request: Request<unknown, unknown, AcceptBody>,
): Promise<Reply> {
  const { context, lockout } = people
  const attempt: Attempt = { name: NO_NAME, network: networkOf(request.peerAddress), userId: undefined }
  const invitation = await findInvitation(context.db, tokenSha256(request.body.token))
  if (invitation?.ended_at_ms !== OPEN || !(await isGood(people, invitation))) {
    await lockout.beginOfNetwork(attempt)
    const { network } = attempt
    return people.failures.refuse(request, { target: 'nobody', network, error: invitationInvalid() })
  }
  const { id, name, created_by: createdBy } = invitation
  // The column is written by this package alone and its row is checksummed.
  const roles = JSON.parse(invitation.roles) as readonly Role[]
  const { password, with_qr: isWithQr } = request.body
  const user = await drawUser(people, { name, roles, password, createdBy })
  const qr = isWithQr === true ? { totp_qr: await qrRows(user.totpUri) } : {}
  return request.mutate(user.id, async (tx) => {
    if (!(await endInvitation(tx, id, context.clock.nowMs()))) throw invitationInvalid()
    const body = { ...(await user.store(tx)), ...qr }
    tx.audit({ detail: { name, roles, invitation: id } })
    return { status: 201, body, sealed: true }
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
    const token = await TOKENS.find(reader, { id })
    const isOver = token === undefined || (token.expires_at_ms !== null && token.expires_at_ms <= nowMs)
    return isOver ? new Set() : rolesNow(reader, token)
  }
  if (kind !== 'user' && kind !== 'cli') return 'any'
  const user = await USERS.find(reader, { id })
  return user === undefined ? new Set() : principalOf(user).roles
}

const FIELDS: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string' },
  name: { type: 'string' },
  roles: { type: 'array', items: { type: 'string' } },
  expires_at: TIMESTAMP_SCHEMA,
}
const LISTED_SCHEMA = recordSchema({ ...FIELDS, created_by: BY_SCHEMA })
const INVITATION_SCHEMA = recordSchema({
  ...FIELDS,
  token: { type: 'string', description: 'What accepts it, once. Shown here and never again.' },
})

const ACCEPTED_SCHEMA: JsonSchema = {
  ...NEW_USER_SCHEMA,
  properties: {
    ...(NEW_USER_SCHEMA.properties as object),
    totp_qr: {
      type: 'array',
      items: { type: 'string' },
      description:
        'With with_qr: the rows of the QR code of totp_uri, 1 for black, without the white around it.',
    },
  },
}

/** No invitation that can be accepted still. */
const invitationNotFound: ErrorFactory = defineError(
  'invitation_not_found',
  404,
  'there is no invitation %s; GET /v1/users/invitations has them',
)

/** Inviting people, and accepting. */
export function invitationRoutes(people: People): readonly Route[] {
  return [
    inviteRoute(people),
    inviteByHashRoute(people),
    listRoute(people),
    withdrawRoute(people),
    acceptPageRoute(),
    acceptRoute(people),
  ]
}

function listRoute({ context }: People): Route {
  return route({
    method: 'GET',
    path: '/v1/users/invitations',
    role: 'admin',
    summary: 'List the open invitations',
    description: 'Who is invited, with which roles, by whom and until when. The link was shown once.',
    schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('invitations', LISTED_SCHEMA) },
    paged: true,
    handle: async (request) => {
      const page = request.page()
      const after = String(page.after?.[0] ?? '')
      const rows = await listInvitations(context.db, context.clock.nowMs(), page.limit + 1, after)
      return { body: await pageFrom(page, 'invitations', rows, invitationRecord, ({ id }) => [id]) }
    },
  })
}

function withdrawRoute({ context: { clock } }: People): Route {
  return route<IdParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/users/invitations/:id',
    role: 'admin',
    summary: 'Withdraw an invitation, from the next request on',
    description: 'For a link that was sent to the wrong person.',
    schema: { params: ID_PARAMS, status: 204 },
    audit: 'user.uninvite',
    errors: ['invitation_not_found'],
    handle: (request) =>
      request.mutate(request.params.id, (tx) => withdraw(tx, request.params.id, clock.nowMs())),
  })
}

async function withdraw(tx: MutationTx, id: string, nowMs: number): Promise<Reply> {
  const row = await findInvitationById(tx, id)
  if (row === undefined) throw invitationNotFound(id)
  await endInvitation(tx, id, nowMs)
  tx.audit({ detail: { name: row.name } })
  return { status: 204 }
}

function invitationRecord(row: InvitationRow): object {
  // The column is written by this package alone and its row is checksummed.
  return { ...madeRecord(row), created_by: JSON.parse(row.created_by) }
}

/** As answered to whoever made it. */
function madeRecord({ id, name, roles, expires_at_ms }: InvitationRow): object {
  return { id, name, roles: JSON.parse(roles), expires_at: timestampFromMs(expires_at_ms) }
}

/** A hash that comes again after its token has done its work. */
const invitationEnded: ErrorFactory = defineError(
  'invitation_ended',
  409,
  'the invitation of %s was accepted or withdrawn here; make another one',
)

function inviteRoute(people: People): Route {
  return route<unknown, unknown, InvitationWish>({
    method: 'POST',
    path: '/v1/users/invitations',
    role: 'admin',
    summary: 'Invite a person to choose a password and scan an authenticator',
    description:
      `Valid once, for ${DEFAULT_LIFE} unless expires_in says otherwise (at most 30d). Only the person with the link ` +
      'learns the credentials. As a link: the address of this box, /v1/auth/invitation# and the token.',
    example: { name: 'grace', roles: ['operator'], expires_in: '24h' },
    schema: {
      body: objectSchema(
        {
          name: USER_NAME_SCHEMA,
          roles: USER_ROLES_SCHEMA,
          expires_in: { type: 'string', pattern: DURATION_PATTERN, maxLength: 64 },
        },
        ['name', 'roles'],
      ),
      response: INVITATION_SCHEMA,
      status: 201,
    },
    audit: 'user.invite',
    errors: ['user_exists'],
    handle: (request) => {
      const { name, roles, expires_in = DEFAULT_LIFE } = request.body
      requireGivable(roles, request.principal)
      const token = `svci_${randomBytes(SECRET_BYTES).toString('base64url')}`
      const life = { livesMs: msFromDuration(expires_in), pointer: '/expires_in' }
      const row = newInvitation(
        people,
        request.principal,
        { name, roles, token_sha256: tokenSha256(token) },
        life,
      )
      return request.mutate(row.id, async (tx) => {
        await storeInvitation(tx, row)
        tx.audit({ detail: { name, roles } })
        return { status: 201, body: { ...madeRecord(row), token }, sealed: true }
      })
    },
  })
}

/** Somebody else has drawn the token, as a hub does for its boxes. */
function inviteByHashRoute(people: People): Route {
  const { context } = people
  return route<{ readonly hash: string }, unknown, HashWish>({
    method: 'PUT',
    path: '/v1/users/invitations/hashes/:hash',
    role: 'admin',
    summary: 'Invite a person by the hash of a token that was drawn elsewhere',
    description:
      'SHA-256 of the token, hex. The same hash makes no second invitation, and opens none that was accepted or withdrawn. ' +
      'Another one of the same maker for the same name takes its place.',
    example: { name: 'grace', roles: ['operator'], expires_at: '2026-12-24T00:00:00Z' },
    schema: {
      params: recordSchema({ hash: { type: 'string', pattern: '^[0-9a-f]{64}$' } }),
      body: recordSchema({ name: USER_NAME_SCHEMA, roles: USER_ROLES_SCHEMA, expires_at: TIMESTAMP_SCHEMA }),
      response: recordSchema(FIELDS),
    },
    audit: 'user.invite',
    errors: ['user_exists', 'invitation_ended'],
    handle: async (request) => {
      const { name, roles, expires_at } = request.body
      requireGivable(roles, request.principal)
      const nowMs = context.clock.nowMs()
      const livesMs = (msFromTimestamp(expires_at) ?? nowMs) - nowMs
      const given = { name, roles, token_sha256: request.params.hash }
      const row = newInvitation(people, request.principal, given, { livesMs, pointer: '/expires_at' })
      const known = await findInvitation(context.db, row.token_sha256)
      if (known !== undefined) return { body: madeRecord(requireSame(known, row)) }
      let isKnown = false
      const reply = await request.mutate(row.id, async (tx) => {
        // Whoever asked beside this one may have been faster.
        const faster = await findInvitation(tx, row.token_sha256)
        if (faster !== undefined) return { body: madeRecord(requireSame(faster, row)) }
        isKnown = (await findUserByName(tx, name)) !== undefined
        await endInvitationsOf(tx, row, nowMs)
        // Whoever is here already is not let in again when they have been removed.
        await INVITATIONS.insert(tx, isKnown ? { ...row, ended_at_ms: nowMs } : row)
        tx.audit({ detail: { name, roles, ...(isKnown ? { opened: false } : {}) } })
        return { body: madeRecord(row) }
      })
      if (isKnown) throw userExists(name)
      return reply
    },
  })
}

/** Throws `invitation_ended`; `validation_failed` for the hash of another invitation. */
function requireSame(known: InvitationRow, { name, roles }: InvitationRow): InvitationRow {
  if (known.ended_at_ms !== OPEN) throw invitationEnded(known.name)
  if (known.name === name && known.roles === roles) return known
  const pointer = known.name === name ? '/roles' : '/name'
  throw fieldRefused(pointer, 'is not what this hash stands for here; draw another token')
}

interface HashWish {
  readonly name: string
  readonly roles: readonly Role[]
  /** RFC 3339. */
  readonly expires_at: string
}

function acceptRoute(people: People): Route {
  return route<unknown, unknown, AcceptBody>({
    method: 'POST',
    path: INVITATION_PATH,
    role: 'public',
    summary: 'Accept an invitation: choose a password, get authenticator and recovery codes',
    description: 'The answer shows both once; log in with them then.',
    example: { token: `svci_${'A'.repeat(43)}`, password: 'correct horse battery staple' },
    schema: {
      body: objectSchema(
        {
          token: { type: 'string', pattern: '^svci_[A-Za-z0-9_-]{43}$' },
          password: NEW_PASSWORD_SCHEMA,
          with_qr: { type: 'boolean', description: 'Answer the QR code of the authenticator, too.' },
        },
        ['token', 'password'],
      ),
      response: ACCEPTED_SCHEMA,
      status: 201,
    },
    audit: 'user.accept',
    errors: ['invitation_invalid', 'user_exists', 'rate_limited', 'forbidden'],
    handle: (request) => {
      requireSameOrigin(request)
      return acceptInvitation(people, request)
    },
  })
}
