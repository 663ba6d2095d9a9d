import { randomUUID } from 'node:crypto'
import {
  type Context,
  DURATION_PATTERN,
  type ErrorDetail,
  fieldRefused,
  type JsonSchema,
  msFromDuration,
  nodeIdentityRef,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  type Principal,
  type Role,
  type TokenMint,
  UUID_PATTERN,
  validationFailed,
} from '@steeple/contracts'
import { newToken, type TokenKind, tokenSha256 } from './authenticator.ts'
import { lastingParent } from './derived/parent.ts'
import type { Links } from './links/links.ts'
import { requireGivable } from './route-parts.ts'
import { TOKEN_ROLES, tokenMakerText } from './token-owner.ts'
import { countTokens, TOKENS, type TokenRow } from './token-store.ts'

/** The body of `POST /v1/tokens`. */
export interface TokenBody {
  readonly name: string
  readonly roles?: readonly Role[]
  /** One role, instead of a list of one. */
  readonly role?: Role
  readonly expires_in?: string
  readonly kind?: TokenKind
  readonly node_name?: string
  readonly node_id?: string
}

/** What the body asks for, once its parts fit each other. */
export interface TokenRequest {
  readonly name: string
  readonly kind: TokenKind
  readonly roles: readonly Role[]
  /** Undefined: never expires. */
  readonly livesMs?: number | undefined
  readonly nodeId?: string | undefined
  readonly nodeName?: string | undefined
}

const TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: 128, pattern: PLAIN_TEXT_PATTERN }

/** Schema of the body of `POST /v1/tokens`. */
export const TOKEN_BODY: JsonSchema = objectSchema(
  {
    name: TEXT,
    kind: { type: 'string', enum: ['api', 'bootstrap'], default: 'api' },
    roles: {
      type: 'array',
      uniqueItems: true,
      maxItems: TOKEN_ROLES.length,
      items: { type: 'string', enum: TOKEN_ROLES },
      description: 'At least one for kind api; none for kind bootstrap.',
    },
    role: { type: 'string', enum: TOKEN_ROLES, description: 'One role, instead of roles.' },
    expires_in: {
      type: 'string',
      pattern: DURATION_PATTERN,
      maxLength: 64,
      description:
        'A duration such as 90d or 1h30m. Without it an api token never expires and a bootstrap token lives as long as auth.bootstrap_token_ttl, which is also its maximum.',
    },
    node_name: { ...TEXT, description: 'Kind bootstrap only: the name of the node that is to join.' },
    node_id: {
      type: 'string',
      pattern: UUID_PATTERN,
      description: 'Kind bootstrap only: no other node can use the token.',
    },
  },
  ['name'],
)

/** Checks what the schema cannot: that the parts fit the kind. Throws `validation_failed` with every broken rule. */
export function tokenRequestFrom(body: TokenBody, bootstrapTtl: string): TokenRequest {
  const kind = body.kind ?? 'api'
  const livesMs = body.expires_in === undefined ? undefined : msFromDuration(body.expires_in)
  const ttlMs = msFromDuration(bootstrapTtl)
  const roles = body.roles ?? (body.role === undefined ? [] : [body.role])
  const details =
    kind === 'api' ? apiProblems(body, roles) : bootstrapProblems(roles, livesMs, ttlMs, bootstrapTtl)
  if (body.role !== undefined && body.roles !== undefined)
    details.push({ pointer: '/role', message: 'give role or roles, not both' })
  if (body.expires_in !== undefined && livesMs === undefined) {
    details.push({ pointer: '/expires_in', message: 'must be more than zero and at most 100y' })
  }
  if (details.length > 0) {
    throw validationFailed(details.map(({ pointer, message }) => `${pointer} ${message}`).join('; '), {
      details,
    })
  }
  return {
    name: body.name,
    kind,
    roles,
    livesMs: kind === 'bootstrap' ? (livesMs ?? ttlMs) : livesMs,
    nodeId: body.node_id,
    nodeName: body.node_name,
  }
}

function apiProblems(body: TokenBody, roles: readonly Role[]): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  if (roles.length === 0) {
    problems.push({ pointer: '/roles', message: 'a token of kind api needs at least one role' })
  }
  for (const key of ['node_id', 'node_name'] as const) {
    if (body[key] !== undefined) problems.push({ pointer: `/${key}`, message: 'is for kind bootstrap only' })
  }
  return problems
}

function bootstrapProblems(
  roles: readonly Role[],
  livesMs: number | undefined,
  ttlMs: number | undefined,
  bootstrapTtl: string,
): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  if (roles.length > 0) problems.push({ pointer: '/roles', message: 'a bootstrap token has no roles' })
  if ((livesMs ?? 0) > (ttlMs ?? 0)) {
    const message = `must be at most ${bootstrapTtl} (auth.bootstrap_token_ttl)`
    problems.push({ pointer: '/expires_in', message })
  }
  return problems
}

/**
 * What was asked for, as far as its maker has it: no role beyond the maker's, no life beyond that of the maker's own
 * credential. Asked for no end, the token ends with the maker's. Contract section 13.
 *
 * People and the environment's administrator come back with another credential: theirs bounds no life.
 *
 * `isLifeGiven`: the life was asked for, and is no default.
 * Throws `forbidden` for a role, `validation_failed` for a life that is too long.
 */
export function withinMaker(
  asked: TokenRequest,
  isLifeGiven: boolean,
  maker: Principal,
  nowMs: number,
): TokenRequest {
  requireGivable(asked.roles, maker)
  if (maker.expiresAtMs === undefined || maker.kind === 'user' || maker.kind === 'admin-env') return asked
  const leftMs = maker.expiresAtMs - nowMs
  if (!isLifeGiven) return { ...asked, livesMs: Math.min(asked.livesMs ?? leftMs, leftMs) }
  if (asked.livesMs !== undefined && asked.livesMs <= leftMs) return asked
  throw fieldRefused(
    '/expires_in',
    `must be at most ${Math.floor(leftMs / 1_000)}s: the token that makes it ends then`,
  )
}

/** A new token: the text to show once, and the row to store. */
interface NewToken {
  readonly token: string
  readonly row: TokenRow
}

/** Draws the token that `asked` describes. Nothing is stored yet. */
export async function drawToken(
  context: Context,
  asked: TokenRequest,
  principal: Principal,
  parent: string | null = lastingParent(principal),
): Promise<NewToken> {
  const token = newToken(asked.kind, context.use(nodeIdentityRef).caSha256)
  const nowMs = context.clock.nowMs()
  const row: TokenRow = {
    id: randomUUID(),
    token_sha256: tokenSha256(token),
    name: asked.name,
    kind: asked.kind,
    roles: JSON.stringify(asked.roles),
    node_id: asked.nodeId ?? null,
    node_name: asked.nodeName ?? null,
    created_at_ms: nowMs,
    expires_at_ms: asked.livesMs === undefined ? null : nowMs + asked.livesMs,
    used_at_ms: null,
    created_by: await tokenMakerText(context.db, principal),
    parent,
  }
  return { token, row }
}

/** What the audit entry of a new token says. */
export function auditDetail(row: TokenRow, asked: TokenRequest): Readonly<Record<string, unknown>> {
  return { name: row.name, kind: row.kind, roles: asked.roles }
}

/** Makes tokens for the service's own command line. */
export function createTokenMint(context: Context, links: Links): TokenMint {
  return {
    count: () => countTokens(context.db),
    link: async (principal) => {
      const link = links.draw(principal)
      await context.mutate(principal, 'auth.link', link.id, link.store)
      return link
    },
    mint: async (principal, name, roles) => {
      const asked: TokenRequest = { name, kind: 'api', roles }
      const { token, row } = await drawToken(context, asked, principal)
      await context.mutate(principal, 'token.create', row.id, async (tx) => {
        await TOKENS.insert(tx, row)
        tx.audit({ detail: auditDetail(row, asked) })
      })
      return { id: row.id, token }
    },
  }
}
