import {
  objectSchema,
  type Reply,
  type Request,
  ROLES,
  type Role,
  type Route,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import type { CachedAuthenticator } from '../authenticator.ts'
import { LOGGED_IN_SCHEMA } from '../people/auth-routes.ts'
import { networkOf } from '../people/network-of.ts'
import type { People } from '../people/people.ts'
import { requireSameOrigin } from '../people/same-origin.ts'
import { findUser } from '../people/user-store.ts'
import { withinMaker } from '../token-limits.ts'
import { auditDetail, drawToken } from '../token-mint.ts'
import { findById, insertToken, removeToken, type TokenRow } from '../token-store.ts'
import { LINK_PATTERN, type Links, linkInvalid } from './links.ts'

interface LinkBody {
  readonly token: string
}

/** A working day: the console of a token cannot go on by a cookie. */
const TOKEN_LIFE_MS = 43_200_000
/** What the token of a link is called. */
const TOKEN_NAME = 'console'
/** What failures with links count as. No user has such a name. */
const NO_NAME = '(link)'

/** Links that open the console: `POST /v1/auth/links`, what they are exchanged for, and its end. */
export function linkRoutes(
  people: People,
  links: Links,
  authenticator: Pick<CachedAuthenticator, 'forget'>,
): readonly Route[] {
  return [drawRoute(links), openRoute(people, links), closeRoute(people, authenticator)]
}

function drawRoute(links: Links): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/links',
    role: 'viewer',
    summary: 'Make a link that opens the console as who asks, once, within five minutes',
    description:
      'The link is the address of the console, # and the token: what is behind # is sent to nobody.',
    schema: {
      body: objectSchema({}),
      response: objectSchema(
        {
          token: { type: 'string', description: 'What stands behind #. Shown here and never again.' },
          expires_at: TIMESTAMP_SCHEMA,
        },
        ['token', 'expires_at'],
      ),
      status: 201,
    },
    audit: 'auth.link',
    handle: (request) =>
      request.mutate(request.principal.id, async () => {
        const { token, expiresAtMs } = links.draw(request.principal)
        return { status: 201, body: { token, expires_at: timestampFromMs(expiresAtMs) }, sealed: true }
      }),
  })
}

function openRoute(people: People, links: Links): Route {
  return route<unknown, unknown, LinkBody>({
    method: 'POST',
    path: '/v1/auth/links/open',
    role: 'public',
    summary: 'Exchange the token of a link for what its maker may do, once',
    description:
      'A link that a person made opens a session, as a login does. That of a token or of the environment gives a scoped token ' +
      'with the same roles for twelve hours, no longer than its maker lasts.',
    example: { token: `svcl_${'A'.repeat(43)}` },
    schema: {
      body: objectSchema({ token: { type: 'string', pattern: LINK_PATTERN } }, ['token']),
      response: LOGGED_IN_SCHEMA,
    },
    audit: 'auth.open',
    errors: ['link_invalid', 'rate_limited', 'forbidden'],
    handle: (request) => {
      requireSameOrigin(request)
      return open(people, links, request)
    },
  })
}

function closeRoute({ context }: People, authenticator: Pick<CachedAuthenticator, 'forget'>): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/links/close',
    role: 'viewer',
    summary:
      'End the token of this request when a link has given it; it opens nothing from the next request on',
    description: 'What the console asks for when somebody signs out. Every other credential stays as it is.',
    schema: { body: objectSchema({}), status: 204 },
    audit: 'auth.close',
    handle: async (request) => {
      const { kind, id } = request.principal
      const row = kind === 'token' ? await findById(context.db, id) : undefined
      if (row === undefined || !isOfLink(row)) return { status: 204 }
      return request.mutate(row.id, async (tx) => {
        await removeToken(tx, row.id)
        tx.afterCommit(() => authenticator.forget(row.token_sha256))
        return { status: 204 }
      })
    },
  })
}

/** Whoever is given a token for longer, under whatever name, cannot end it for all others who have it. */
function isOfLink({ name, expires_at_ms: endMs, created_at_ms: startMs }: TokenRow): boolean {
  return name === TOKEN_NAME && endMs !== null && endMs - startMs <= TOKEN_LIFE_MS
}

async function open(
  people: People,
  links: Links,
  request: Request<unknown, unknown, LinkBody>,
): Promise<Reply> {
  const network = networkOf(request.peerAddress)
  const maker = links.take(request.body.token)
  if (maker === undefined) {
    await people.lockout.beginOfNetwork({ name: NO_NAME, network, userId: undefined })
    return people.failures.refuse(request, { target: 'nobody', network, error: linkInvalid() })
  }
  const { context, sessions } = people
  const user = maker.kind === 'user' ? await findUser(context.db, maker.id) : undefined
  if (user !== undefined) return sessions.open(request, { user, method: 'link' })
  const roles = [...maker.roles].filter(isGivable).sort()
  const wish = {
    name: TOKEN_NAME,
    kind: 'api',
    livesMs: TOKEN_LIFE_MS,
    nodeId: undefined,
    nodeName: undefined,
  } as const
  const asked = withinMaker({ ...wish, roles }, false, maker, context.clock.nowMs())
  const { token, row } = await drawToken(context, asked, maker)
  return request.mutate(row.id, async (tx) => {
    await insertToken(tx, row)
    tx.audit({ principal: maker, detail: auditDetail(row, asked) })
    const expires_at = timestampFromMs(row.expires_at_ms ?? 0)
    return { status: 200, sealed: true, body: { token, token_type: 'Bearer', expires_at, roles } }
  })
}

function isGivable(role: Role): boolean {
  return role !== 'node' && ROLES.includes(role)
}
