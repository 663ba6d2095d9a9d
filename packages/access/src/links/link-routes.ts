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
import { LOGGED_IN_SCHEMA } from '../people/auth-routes.ts'
import { networkOf } from '../people/network-of.ts'
import type { People } from '../people/people.ts'
import { requireSameOrigin } from '../people/same-origin.ts'
import { findUser } from '../people/user-store.ts'
import { withinMaker } from '../token-limits.ts'
import { auditDetail, drawToken } from '../token-mint.ts'
import { insertToken } from '../token-store.ts'
import { LINK_PATTERN, type Links, linkInvalid } from './links.ts'

interface LinkBody {
  readonly token: string
}

/** A working day: the console of a token cannot go on by a cookie. */
const TOKEN_LIFE_MS = 43_200_000
/** What failures with links count as. No user has such a name. */
const NO_NAME = '(link)'

/** Links that open the console: `POST /v1/auth/links`, and what they are exchanged for. */
export function linkRoutes(people: People, links: Links): readonly Route[] {
  return [drawRoute(links), openRoute(people, links)]
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
    name: 'console',
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
