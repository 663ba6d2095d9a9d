import {
  defineError,
  type ErrorFactory,
  networkOf,
  objectSchema,
  PAGE_QUERY,
  type Principal,
  pageFrom,
  pageSchema,
  type Reply,
  type Request,
  ROLES,
  type Role,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  type Tx,
  timestampFromMs,
} from '@steeple/contracts'
import { endToken } from '../derived/end-derived.ts'
import { PARENT_SCHEMA, parentRecord } from '../derived/parent.ts'
import { auditDetail, drawToken, withinMaker } from '../new-token.ts'
import { LOGGED_IN_SCHEMA } from '../people/auth-routes.ts'
import type { People } from '../people/people.ts'
import { USERS } from '../people/user-store.ts'
import { BY_SCHEMA, ID_PARAMS, type IdParams, requireSameOrigin } from '../route-parts.ts'
import { CONSOLE_TOKEN, TOKENS, type TokenRow } from '../token-store.ts'
import { LINKS, type LinkRow, openLinks } from './link-store.ts'
import { LINK_PATTERN, type Links, linkInvalid, makerOf } from './links.ts'

const LINK_SCHEMA = recordSchema({
  id: { type: 'string' },
  created_by: BY_SCHEMA,
  parent: PARENT_SCHEMA,
  created_at: TIMESTAMP_SCHEMA,
  expires_at: TIMESTAMP_SCHEMA,
})
/** They live five minutes, and each credential has few. */
const MOST_READ = 1_000

/** No link that is open, or that of somebody else. */
const linkNotFound: ErrorFactory = defineError(
  'link_not_found',
  404,
  'there is no open link %s of yours; GET /v1/auth/links has them',
)

interface LinkBody {
  readonly token: string
}

/** A working day: the console of a token cannot go on by a cookie. */
const TOKEN_LIFE_MS = 43_200_000
/** What failures with links count as. No user has such a name. */
const NO_NAME = '(link)'

/** Links that open the console: `POST /v1/auth/links`, what they are exchanged for, and its end. */
export function linkRoutes(people: People, links: Links): readonly Route[] {
  return [drawRoute(links), openRoute(people, links), closeRoute(people), listRoute(people), withdrawRoute()]
}

function listRoute({ context }: People): Route {
  return route({
    method: 'GET',
    path: '/v1/auth/links',
    role: 'viewer',
    summary: 'List the links that nobody has opened yet',
    description: 'Your own ones; those of everybody for the role admin.',
    schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('links', LINK_SCHEMA) },
    paged: true,
    handle: async (request) => {
      const page = request.page()
      const after = String(page.after?.[0] ?? '')
      const all = await openLinks(context.db, context.clock.nowMs(), MOST_READ, after)
      const own = all.filter((row) => mayTouch(request.principal, row))
      return { body: await pageFrom(page, 'links', own, linkRecord, ({ id }) => [id]) }
    },
  })
}

function withdrawRoute(): Route {
  return route<IdParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/auth/links/:id',
    role: 'viewer',
    summary: 'Withdraw a link of your own; as admin, of anyone',
    description: 'What it has opened stands among the sessions and tokens.',
    schema: { params: ID_PARAMS, status: 204 },
    audit: 'auth.unlink',
    errors: ['link_not_found'],
    handle: (request) => {
      const { id } = request.params
      return request.mutate(id, async (tx) => {
        const row = await LINKS.find(tx, { id })
        if (row === undefined || !mayTouch(request.principal, row)) throw linkNotFound(id)
        await LINKS.remove(tx, { id })
        return { status: 204 }
      })
    },
  })
}

function mayTouch(principal: Principal, row: LinkRow): boolean {
  const { kind, id } = makerOf(row)
  return principal.roles.has('admin') || (principal.kind === kind && principal.id === id)
}

function linkRecord(row: LinkRow): object {
  const { kind, id, name } = makerOf(row)
  return {
    id: row.id,
    created_by: { kind, id, name },
    parent: parentRecord(row.parent),
    created_at: timestampFromMs(row.created_at_ms),
    expires_at: timestampFromMs(row.expires_at_ms),
  }
}

function drawRoute(links: Links): Route {
  return route({
    method: 'POST',
    path: '/v1/auth/links',
    role: 'viewer',
    summary: 'Make a link that opens the console as you, once, within five minutes',
    description:
      'The link is the address of the console, # and the token: what is behind # is sent to nobody. It opens at every instance, and ends ' +
      'with the credential of this request, as does what it opens.',
    schema: {
      body: objectSchema({}),
      response: recordSchema({
        id: { type: 'string', description: 'What withdraws it.' },
        token: { type: 'string', description: 'What stands behind #. Shown here and never again.' },
        expires_at: TIMESTAMP_SCHEMA,
      }),
      status: 201,
    },
    audit: 'auth.link',
    handle: (request) => {
      const link = links.draw(request.principal)
      return request.mutate(link.id, async (tx) => {
        await link.store(tx)
        const { id, token, expiresAtMs } = link
        return { status: 201, body: { id, token, expires_at: timestampFromMs(expiresAtMs) }, sealed: true }
      })
    },
  })
}

function openRoute(people: People, links: Links): Route {
  return route<unknown, unknown, LinkBody>({
    method: 'POST',
    path: '/v1/auth/links/open',
    role: 'public',
    summary: 'Exchange the token of a link for a session of its maker, once',
    description:
      'A link that a person made opens a session, as a login does. That of a token, a certificate or the environment gives a scoped ' +
      'token with the same roles for twelve hours. Either ends with the credential that the link was made with.',
    example: { token: `svcl_${'A'.repeat(43)}` },
    schema: {
      body: recordSchema({ token: { type: 'string', pattern: LINK_PATTERN } }),
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

function closeRoute(people: People): Route {
  const { context } = people
  return route({
    method: 'POST',
    path: '/v1/auth/links/close',
    role: 'viewer',
    summary: 'End the token of this request, from the next request on, when it came from a link',
    description: 'What the console asks for when somebody signs out. Every other credential stays as it is.',
    schema: { body: objectSchema({}), status: 204 },
    audit: 'auth.close',
    handle: async (request) => {
      const { kind, id } = request.principal
      const row = kind === 'token' ? await TOKENS.find(context.db, { id }) : undefined
      if (row === undefined || !isOfLink(row)) return { status: 204 }
      return request.mutate(row.id, async (tx) => {
        await endToken(tx, row.id, context.clock.nowMs())
        tx.afterCommit(people.forget)
        return { status: 204 }
      })
    },
  })
}

/** Whoever is given a token for longer, under whatever name, cannot end it for all others who have it. */
function isOfLink({ name, parent, expires_at_ms: endMs, created_at_ms: startMs }: TokenRow): boolean {
  return name === CONSOLE_TOKEN && parent !== null && endMs !== null && endMs - startMs <= TOKEN_LIFE_MS
}

async function open(
  people: People,
  links: Links,
  request: Request<unknown, unknown, LinkBody>,
): Promise<Reply> {
  const network = networkOf(request.peerAddress)
  const { context, sessions } = people
  const link = await links.find(context.db, request.body.token)
  if (link === undefined) {
    await people.lockout.beginOfNetwork({ name: NO_NAME, network, userId: undefined })
    return people.failures.refuse(request, { target: 'nobody', network, error: linkInvalid() })
  }
  /** Of several at once, and of an end of its source at the same time, one comes first. */
  const claim = async (tx: Tx): Promise<void> => {
    const isGood = (await links.find(tx, request.body.token)) !== undefined
    if (!isGood || !(await LINKS.remove(tx, { id: link.id }))) throw linkInvalid()
  }
  const { maker, source } = link
  const user = maker.kind === 'user' ? await USERS.find(context.db, { id: maker.id }) : undefined
  if (user !== undefined) {
    const parent = { source, expiresAtMs: maker.expiresAtMs ?? Number.POSITIVE_INFINITY }
    return sessions.open(request, { user, method: 'link', claim, parent })
  }
  const roles = [...maker.roles].filter(isGivable).sort()
  const wish = { name: CONSOLE_TOKEN, kind: 'api', livesMs: TOKEN_LIFE_MS, roles } as const
  const asked = withinMaker(wish, false, maker, context.clock.nowMs())
  const { token, row } = await drawToken(context, asked, maker, source)
  return request.mutate(row.id, async (tx) => {
    await claim(tx)
    await TOKENS.insert(tx, row)
    tx.audit({ principal: maker, detail: auditDetail(row, asked) })
    const expires_at = timestampFromMs(row.expires_at_ms ?? 0)
    return { status: 200, sealed: true, body: { token, token_type: 'Bearer', expires_at, roles } }
  })
}

function isGivable(role: Role): boolean {
  return role !== 'node' && ROLES.includes(role)
}
