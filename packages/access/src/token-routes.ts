import {
  type BootstrapTokens,
  bootstrapTokenInvalid,
  type Context,
  closedItemsRef,
  msFromDuration,
  objectSchema,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageFrom,
  pageSchema,
  type Reader,
  type Route,
  route,
  tokenNotFound,
  UUID_PATTERN,
} from '@steeple/contracts'
import { type CachedAuthenticator, type LastUse, tokenKindOf, tokenSha256 } from './authenticator.ts'
import { BOOTSTRAP_TOKEN } from './closed-kinds.ts'
import { endToken } from './derived/end-derived.ts'
import {
  auditDetail,
  drawToken,
  TOKEN_BODY,
  type TokenBody,
  tokenRequestFrom,
  withinMaker,
} from './new-token.ts'
import { newestFirst } from './newest-store.ts'
import {
  NEW_TOKEN_SCHEMA,
  newTokenRecord,
  ownerIdOf,
  rolesOfOwner,
  TOKEN_SCHEMA,
  tokenRecord,
} from './token-owner.ts'
import { burnToken, findByHash, TOKENS, type TokenRow } from './token-store.ts'

/** Makes, checks and burns bootstrap tokens. One answer for unknown, used, expired and bound to another node. */
export function createBootstrapTokens(
  context: Context,
  isBoundAlive: (reader: Reader, parent: string | null) => Promise<boolean>,
): BootstrapTokens {
  const { db, clock } = context
  const closed = context.use(closedItemsRef)
  const live = async (reader: Reader, token: string, nodeId: string): Promise<TokenRow> => {
    if (tokenKindOf(token) !== 'bootstrap') throw bootstrapTokenInvalid()
    const row = await findByHash(reader, tokenSha256(token))
    if (row === undefined || !isOpenTo(row, nodeId, clock.nowMs())) throw bootstrapTokenInvalid()
    if (!(await isBoundAlive(reader, row.parent))) throw bootstrapTokenInvalid()
    if ((await closed.among(BOOTSTRAP_TOKEN, [row.id])).has(row.id)) throw bootstrapTokenInvalid()
    // Letting boxes in is for administrators, and whoever made it may be none any more.
    const held = await rolesOfOwner(reader, row)
    if (held !== 'any' && !held.has('admin')) throw bootstrapTokenInvalid()
    return row
  }
  return {
    check: async (token, nodeId) => {
      const row = await live(db, token, nodeId)
      return { id: row.id, roles: [], isUsed: row.used_at_ms !== null }
    },
    burn: async (tx, token, nodeId) => {
      const own = db.join(tx)
      const row = await live(own, token, nodeId)
      if (!(await burnToken(own, row, nodeId, clock.nowMs()))) throw bootstrapTokenInvalid()
    },
    mint: async (tx, principal, wanted) => {
      const nowMs = clock.nowMs()
      const mostMs = msFromDuration(context.settings.auth.bootstrap_token_ttl) ?? 0
      const { name, nodeId, livesMs = mostMs } = wanted
      const wish = { name, kind: 'bootstrap', roles: [], livesMs: Math.min(livesMs, mostMs), nodeId } as const
      const asked = withinMaker(wish, false, principal, nowMs)
      const { token, row } = await drawToken(context, asked, principal)
      await TOKENS.insert(db.join(tx), row)
      return { id: row.id, token, expiresAtMs: row.expires_at_ms ?? nowMs }
    },
  }
}

/** A used one is bound to the node that used it: that one may ask again for what it was given. */
function isOpenTo(row: TokenRow, nodeId: string, nowMs: number): boolean {
  if (row.kind !== 'bootstrap') return false
  if (row.expires_at_ms === null || row.expires_at_ms <= nowMs) return false
  if (row.used_at_ms !== null && row.node_id === null) return false
  return row.node_id === null || row.node_id === nodeId
}

const TOKEN_PARAMS = objectSchema(
  { id: { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN } },
  ['id'],
)

/** The form of every id that `drawToken` gives. */
const TOKEN_ID = new RegExp(UUID_PATTERN)

/** The routes under `/v1/tokens`. */
export function tokenRoutes(
  context: Context,
  authenticator: CachedAuthenticator,
  lastUse: LastUse,
): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/tokens',
      role: 'admin',
      summary: 'List the scoped tokens, newest first',
      description: 'Names, roles and times. The token itself was shown once, when it was made.',
      schema: { query: objectSchema(PAGE_QUERY), response: pageSchema('tokens', TOKEN_SCHEMA) },
      paged: true,
      handle: async (request) => ({ body: await tokenPage(context, lastUse, request.page()) }),
    }),
    route<unknown, unknown, TokenBody>({
      method: 'POST',
      path: '/v1/tokens',
      role: 'admin',
      summary: 'Create a scoped token or a bootstrap token',
      description:
        'The answer shows the token once; only its SHA-256 is kept. It gives no role that its maker lacks, and ends no later ' +
        'than the token that made it: asked for longer, the request is refused; without expires_in it ends at the same time. Made by a ' +
        'person, itself or by another token, it may do what the person may at each request, and goes with the person.',
      example: { name: 'dashboard', roles: ['viewer'], expires_in: '90d' },
      schema: { body: TOKEN_BODY, response: NEW_TOKEN_SCHEMA, status: 201 },
      audit: 'token.create',
      handle: async (request) => {
        const wanted = tokenRequestFrom(request.body, context.settings.auth.bootstrap_token_ttl)
        const isLifeGiven = request.body.expires_in !== undefined
        const asked = withinMaker(wanted, isLifeGiven, request.principal, context.clock.nowMs())
        const { token, row } = await drawToken(context, asked, request.principal)
        return request.mutate(row.id, async (tx) => {
          await TOKENS.insert(tx, row)
          tx.audit({ detail: auditDetail(row, asked) })
          return { status: 201, body: newTokenRecord(row, token), sealed: true }
        })
      },
    }),
    route<{ readonly id: string }, unknown, unknown>({
      method: 'DELETE',
      path: '/v1/tokens/:id',
      role: 'admin',
      summary: 'Delete a token; it stops working at once, and so does everything it has made',
      description:
        'Tokens, certificates, invitations and links that it has made, and what these have opened, end with it.',
      schema: { params: TOKEN_PARAMS, status: 204 },
      audit: 'token.delete',
      errors: ['token_not_found'],
      handle: (request) => {
        const { id } = request.params
        // Whoever pastes the token itself must not find it in the answer and, for good, in the audit trail.
        if (!TOKEN_ID.test(id)) throw tokenNotFound('with such an id')
        return request.mutate(id, async (tx) => {
          const row = await TOKENS.find(tx, { id })
          if (row === undefined || !(await endToken(tx, row.id, context.clock.nowMs())))
            throw tokenNotFound(id)
          tx.audit({ detail: { name: row.name, kind: row.kind } })
          tx.afterCommit(() => authenticator.forgetSessions())
          return { status: 204 }
        })
      },
    }),
  ]
}

async function tokenPage(context: Context, lastUse: LastUse, page: Page): Promise<object> {
  const rows = await newestFirst(TOKENS, context.db, page)
  const record = async (row: TokenRow): Promise<object> =>
    tokenRecord(row, await lastUse.of(row.id), ownerIdOf(row))
  return pageFrom(page, 'tokens', rows, record, (row) => [row.created_at_ms, row.id])
}
