import {
  DURATION_PATTERN,
  defineError,
  type ErrorFactory,
  type JsonSchema,
  type MutationTx,
  objectSchema,
  PAGE_QUERY,
  pageSchema,
  type Reply,
  type Route,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { BY_SCHEMA } from '../token-owner.ts'
import { acceptPageRoute, INVITATION_PATH } from './accept-page.ts'
import {
  findInvitationById,
  type InvitationRow,
  listInvitations,
  removeInvitation,
} from './invitation-store.ts'
import {
  type AcceptBody,
  acceptInvitation,
  DEFAULT_LIFE,
  drawInvitation,
  type InvitationWish,
  storeInvitation,
} from './invitations.ts'
import type { People } from './people.ts'
import { requireSameOrigin } from './same-origin.ts'
import { NEW_PASSWORD_SCHEMA, NEW_USER_SCHEMA, USER_NAME_SCHEMA, USER_ROLES_SCHEMA } from './user-record.ts'
import { requireGivable } from './user-routes.ts'
import { UUID_PATTERN } from './uuid.ts'

const FIELDS: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string' },
  name: { type: 'string' },
  roles: { type: 'array', items: { type: 'string' } },
  expires_at: TIMESTAMP_SCHEMA,
}
const LISTED_SCHEMA = objectSchema({ ...FIELDS, created_by: BY_SCHEMA }, [
  ...Object.keys(FIELDS),
  'created_by',
])
const INVITATION_SCHEMA = objectSchema(
  {
    ...FIELDS,
    token: { type: 'string', description: 'What accepts it, once. Shown here and never again.' },
  },
  ['id', 'name', 'roles', 'expires_at', 'token'],
)

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
  return [inviteRoute(people), listRoute(people), withdrawRoute(), acceptPageRoute(), acceptRoute(people)]
}

function listRoute({ context }: People): Route {
  return route({
    method: 'GET',
    path: '/v1/users/invitations',
    role: 'admin',
    summary: 'List the invitations that can be accepted still',
    description: 'Who is invited, with which roles, by whom and until when. The link was shown once.',
    schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('invitations', LISTED_SCHEMA) },
    paged: true,
    handle: async (request) => {
      const { limit, after, cursor } = request.page()
      const afterId = String(after?.[0] ?? '')
      const rows = await listInvitations(context.db, context.clock.nowMs(), limit + 1, afterId)
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      const next_cursor = rows.length > limit && last !== undefined ? cursor([last.id]) : null
      return { body: { invitations: shown.map(invitationRecord), next_cursor } }
    },
  })
}

function withdrawRoute(): Route {
  return route<{ readonly id: string }, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/users/invitations/:id',
    role: 'admin',
    summary: 'Withdraw an invitation; it is good for nothing from the next request on',
    description: 'For a link that was sent to the wrong person.',
    schema: { params: objectSchema({ id: { type: 'string', pattern: UUID_PATTERN } }, ['id']), status: 204 },
    audit: 'user.uninvite',
    errors: ['invitation_not_found'],
    handle: (request) => request.mutate(request.params.id, (tx) => withdraw(tx, request.params.id)),
  })
}

async function withdraw(tx: MutationTx, id: string): Promise<Reply> {
  const row = await findInvitationById(tx, id)
  if (row === undefined) throw invitationNotFound(id)
  await removeInvitation(tx, id)
  tx.audit({ detail: { name: row.name } })
  return { status: 204 }
}

function invitationRecord(row: InvitationRow): object {
  return {
    id: row.id,
    name: row.name,
    // The column is written by this package alone and its row is checksummed.
    roles: JSON.parse(row.roles),
    expires_at: timestampFromMs(row.expires_at_ms),
    created_by: JSON.parse(row.created_by),
  }
}

function inviteRoute(people: People): Route {
  return route<unknown, unknown, InvitationWish>({
    method: 'POST',
    path: '/v1/users/invitations',
    role: 'admin',
    summary: 'Invite a person to choose a password and scan an authenticator',
    description: `Good once, for ${DEFAULT_LIFE} unless expires_in says otherwise (at most 30d). Nobody but its bearer learns the credentials. As a link: the address of this box, /v1/auth/invitation# and the token.`,
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
      const { name, roles } = request.body
      requireGivable(roles, request.principal)
      const { token, row } = drawInvitation(people, request.body, request.principal)
      const expires_at = timestampFromMs(row.expires_at_ms)
      return request.mutate(row.id, async (tx) => {
        await storeInvitation(tx, row)
        tx.audit({ detail: { name, roles } })
        return { status: 201, body: { id: row.id, name, roles, expires_at, token }, sealed: true }
      })
    },
  })
}

function acceptRoute(people: People): Route {
  return route<unknown, unknown, AcceptBody>({
    method: 'POST',
    path: INVITATION_PATH,
    role: 'public',
    summary: 'Accept an invitation: choose a password, get the authenticator and the recovery codes',
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
