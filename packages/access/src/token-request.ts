import {
  DURATION_PATTERN,
  type ErrorDetail,
  type JsonSchema,
  msFromDuration,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  type Role,
  validationFailed,
} from '@steeple/contracts'
import type { TokenKind } from './authenticator.ts'
import { TOKEN_ROLES } from './token-owner.ts'

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
  readonly livesMs: number | undefined
  readonly nodeId: string | undefined
  readonly nodeName: string | undefined
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
      pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
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
