import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  type Principal,
  type Role,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { PARENT_SCHEMA, parentRecord } from './derived/parent.ts'
import type { TokenRow } from './token-store.ts'

/** Roles that a token may hold. `node` is for certificates: its rule is the caller's own node. */
export const TOKEN_ROLES: readonly Role[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']

/** Who made something. */
export const BY_SCHEMA: JsonSchema = objectSchema(
  { kind: { type: 'string' }, id: { type: 'string' }, name: { type: 'string' } },
  ['kind', 'id', 'name'],
)
const COMMON: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string' },
  name: { type: 'string' },
  kind: { type: 'string', description: 'api or bootstrap; more kinds may come.' },
  roles: { type: 'array', items: { type: 'string' } },
  expires_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'Null: the token lives until it is deleted.' },
}

/** A token in the list. */
export const TOKEN_SCHEMA: JsonSchema = objectSchema(
  {
    ...COMMON,
    created_at: TIMESTAMP_SCHEMA,
    last_used_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'Exact to a minute.' },
    created_by: BY_SCHEMA,
    parent: PARENT_SCHEMA,
    user_id: {
      type: ['string', 'null'],
      description:
        'The person who made it, also by way of another token: it may do no more, and goes with the person.',
    },
    node_id: { type: ['string', 'null'], description: 'The node that a bootstrap token is bound to.' },
    node_name: { type: ['string', 'null'] },
  },
  [
    'id',
    'name',
    'kind',
    'roles',
    'expires_at',
    'created_at',
    'last_used_at',
    'created_by',
    'parent',
    'user_id',
    'node_id',
    'node_name',
  ],
)

/** A token as answered once to whoever made it. */
export const NEW_TOKEN_SCHEMA: JsonSchema = objectSchema(
  { ...COMMON, token: { type: 'string', description: 'The credential. Shown here and never again.' } },
  ['id', 'name', 'kind', 'roles', 'expires_at', 'token'],
)

/** The roles of a stored token. */
export function rolesOf(row: TokenRow): readonly Role[] {
  // The column is written by this package alone and its row is checksummed.
  return JSON.parse(row.roles) as readonly Role[]
}

/** The stored form of who made a token. */
export function createdByText(principal: Principal): string {
  return JSON.stringify({ kind: principal.kind, id: principal.id, name: principal.name })
}

/** Who made something, of its stored form. */
function byRecord(text: string): object {
  // Written by createdByText, and of tokens by tokenMakerText.
  const { kind, id, name } = JSON.parse(text) as Readonly<Record<string, string>>
  return { kind, id, name }
}

/** A token in the list. A burnt bootstrap token was last used when it was burnt. */
export function tokenRecord(
  row: TokenRow,
  lastUsedAtMs: number | undefined,
  ownerId: string | undefined,
): object {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    roles: rolesOf(row),
    created_at: timestampFromMs(row.created_at_ms),
    expires_at: timestampOrNull(row.expires_at_ms),
    last_used_at: timestampOrNull(row.used_at_ms ?? lastUsedAtMs ?? null),
    created_by: byRecord(row.created_by),
    parent: parentRecord(row.parent),
    user_id: ownerId ?? null,
    node_id: row.node_id,
    node_name: row.node_name,
  }
}

/** A token as answered to whoever made it, with the credential. */
export function newTokenRecord(row: TokenRow, token: string): object {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    roles: rolesOf(row),
    expires_at: timestampOrNull(row.expires_at_ms),
    token,
  }
}
