import {
  expandRoles,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  type Principal,
  type Reader,
  type Role,
  recordSchema,
  TIMESTAMP_SCHEMA,
  type Tx,
  timestampFromMs,
  timestampOrNull,
  UUID_PATTERN,
  unauthenticated,
} from '@steeple/contracts'
import type { TokenKind } from './authenticator.ts'
import { endToken } from './derived/end-derived.ts'
import { PARENT_SCHEMA, parentRecord } from './derived/parent.ts'
import { principalOf, USERS } from './people/user-store.ts'
import { BY_SCHEMA } from './route-parts.ts'
import { TOKENS, type TokenRow, tokensNaming } from './token-store.ts'

/** Roles that a token may hold. `node` is for certificates: its rule is the caller's own node. */
export const TOKEN_ROLES: readonly Role[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin']

const COMMON: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string' },
  name: { type: 'string' },
  kind: { type: 'string', description: 'api or bootstrap; more kinds may come.' },
  roles: { type: 'array', items: { type: 'string' } },
  expires_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'Null: the token lives until it is deleted.' },
}

export const TOKEN_SCHEMA: JsonSchema = recordSchema({
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
})

/** A token as answered once to whoever made it. */
export const NEW_TOKEN_SCHEMA: JsonSchema = recordSchema({
  ...COMMON,
  token: { type: 'string', description: 'The credential. Shown here and never again.' },
})

/** The roles of a stored token. */
function rolesOf(row: TokenRow): readonly Role[] {
  // The column is written by this package alone and its row is checksummed.
  return JSON.parse(row.roles) as readonly Role[]
}

/** The stored form of who made a token. */
export function createdByText(principal: Principal): string {
  return JSON.stringify({ kind: principal.kind, id: principal.id, name: principal.name })
}

function commonRecord(row: TokenRow): object {
  const { id, name, kind } = row
  return { id, name, kind, roles: rolesOf(row), expires_at: timestampOrNull(row.expires_at_ms) }
}

/** A token in the list. A burnt bootstrap token was last used when it was burnt. */
export function tokenRecord(
  row: TokenRow,
  lastUsedAtMs: number | undefined,
  ownerId: string | undefined,
): object {
  // Written by createdByText, and of tokens by tokenMakerText.
  const { kind, id, name } = JSON.parse(row.created_by) as Readonly<Record<string, string>>
  return {
    ...commonRecord(row),
    created_at: timestampFromMs(row.created_at_ms),
    last_used_at: timestampOrNull(row.used_at_ms ?? lastUsedAtMs ?? null),
    created_by: { kind, id, name },
    parent: parentRecord(row.parent),
    user_id: ownerId ?? null,
    node_id: row.node_id,
    node_name: row.node_name,
  }
}

/** A token as answered to whoever made it, with the credential. */
export function newTokenRecord(row: TokenRow, token: string): object {
  return { ...commonRecord(row), token }
}

/**
 * Tokens are bound to the person whom they go back to, however many tokens lie between: none may do what the person may no
 * longer do, and none is left when the person is removed.
 */

/** Who made a token, as its row says. */
interface Maker {
  readonly kind: Principal['kind']
  readonly id: string
  /** The user whom the token that made this one was bound to. */
  readonly owner?: string
}

const USER_ID = new RegExp(UUID_PATTERN)

/** The id of the user whom a token is bound to; undefined for one of the environment's administrator and of the box itself. */
export function ownerIdOf({ created_by }: Pick<TokenRow, 'created_by'>): string | undefined {
  // The column is written by this package alone and its row is checksummed.
  const { kind, id, owner } = JSON.parse(created_by) as Maker
  if (owner !== undefined) return owner
  // A person also speaks by a certificate.
  return kind === 'user' || (kind === 'cli' && USER_ID.test(id)) ? id : undefined
}

/**
 * The stored form of who makes a token: with the user whom the maker is bound to, where that is a token. Throws `unauthenticated`
 * where that token has gone since it was asked who it is: nobody could say any more to whom the new one is bound.
 */
export async function tokenMakerText(reader: Reader, maker: Principal): Promise<string> {
  const text = createdByText(maker)
  if (maker.kind !== 'token') return text
  const own = await TOKENS.find(reader, { id: maker.id })
  if (own === undefined) throw unauthenticated('the token that asks was removed; use another one')
  const owner = ownerIdOf(own)
  return owner === undefined ? text : JSON.stringify({ ...JSON.parse(text), owner })
}

/** The roles that the owner has by now, none when the owner is gone; any without an owner. */
export async function rolesOfOwner(reader: Reader, row: TokenRow): Promise<ReadonlySet<Role> | 'any'> {
  const ownerId = ownerIdOf(row)
  if (ownerId === undefined) return 'any'
  const owner = await USERS.find(reader, { id: ownerId })
  return owner === undefined ? new Set() : principalOf(owner).roles
}

/** What a token may do by now: its roles as far as its owner has them. Empty: nothing. */
export async function rolesNow(reader: Reader, row: TokenRow): Promise<ReadonlySet<Role>> {
  const held = await rolesOfOwner(reader, row)
  const roles = expandRoles(rolesOf(row))
  return held === 'any' ? roles : new Set([...roles].filter((role) => held.has(role)))
}

/** Removes the tokens that are bound to a user, or those of a kind that nobody has used; says how many that were. */
export async function endTokensOf(tx: Tx, userId: string, nowMs: number, kind?: TokenKind): Promise<number> {
  const rows = (await tokensNaming(tx, userId)).filter(
    (row) =>
      ownerIdOf(row) === userId && (kind === undefined || (row.kind === kind && row.used_at_ms === null)),
  )
  for (const { id } of rows) await endToken(tx, id, nowMs)
  return rows.length
}
