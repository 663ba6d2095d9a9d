import {
  expandRoles,
  type Principal,
  type Reader,
  type Role,
  type Tx,
  unauthenticated,
} from '@steeple/contracts'
import { endToken } from './derived/end-derived.ts'
import { findUser, principalOf } from './people/user-store.ts'
import { UUID_PATTERN } from './people/uuid.ts'
import { createdByText, rolesOf } from './token-record.ts'
import { findById, type TokenRow, tokensNaming } from './token-store.ts'
import type { TokenKind } from './token-text.ts'

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
  const own = await findById(reader, maker.id)
  if (own === undefined) throw unauthenticated('the token that makes this one is no more')
  const owner = ownerIdOf(own)
  return owner === undefined ? text : JSON.stringify({ ...JSON.parse(text), owner })
}

/** The roles that the owner has by now, none when the owner is gone; any without an owner. */
export async function rolesOfOwner(reader: Reader, row: TokenRow): Promise<ReadonlySet<Role> | 'any'> {
  const ownerId = ownerIdOf(row)
  if (ownerId === undefined) return 'any'
  const owner = await findUser(reader, ownerId)
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
