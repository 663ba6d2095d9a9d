import {
  type AuthenticatedPrincipal,
  type Authenticator,
  type Clock,
  type Principal,
  type Reader,
  type Role,
  tokenExpired,
} from '@steeple/contracts'
import type { LastUse } from './last-use.ts'
import type { SessionAuthenticator } from './people/session-authenticator.ts'
import { rolesNow } from './token-owner.ts'
import { findByHash, type TokenRow } from './token-store.ts'
import { isSameSha256, tokenKindOf, tokenSha256 } from './token-text.ts'

/** What the authenticator works with. */
export interface AuthenticatorParts {
  readonly reader: Reader
  readonly clock: Clock
  readonly lastUse: LastUse
  /** Knows the JWT of people; without it there are none. */
  readonly sessions?: SessionAuthenticator
  /** Whether what a token ends with is alive. */
  isBoundAlive(parent: string | null): Promise<boolean>
  /** Whether live tokens may be kept in memory now: not while another process or copy may delete them. */
  mayCache(): boolean
}

/** The authenticator and the way to make it forget. */
export interface CachedAuthenticator extends Authenticator {
  /** Forgets a token; call it when its deletion is committed. */
  forget(sha256: string): void
  /** Forgets all tokens and sessions: what is derived from one ends with it. Call it when one has ended, or a user has lost something. */
  forgetSessions(): void
}

/** Bound of the cache. Only live tokens get into it, so strangers cannot fill it. */
const MAX_KNOWN = 10_000

/**
 * Authenticates scoped tokens of kind `api` and the JWT of sessions; a bootstrap token opens nothing but the enroll route.
 *
 * A token is looked up by its SHA-256, so the time of the search tells nothing of a stored token; the hashes are
 * compared in constant time besides.
 */
export function createAuthenticator(parts: AuthenticatorParts): CachedAuthenticator {
  const { reader, clock, lastUse } = parts
  const known = new Map<string, AuthenticatedPrincipal>()
  // Another one after each deletion: a row that was read before one must not enter the cache after it.
  let epoch = {}
  const look = async (sha256: string): Promise<AuthenticatedPrincipal | undefined> => {
    const epochBefore = epoch
    const row = await findByHash(reader, sha256)
    if (row?.kind !== 'api' || !isSameSha256(row.token_sha256, sha256)) return undefined
    const roles = await rolesNow(reader, row)
    if (roles.size === 0) return undefined
    // Of one that is over itself it is said so.
    const isOver = row.expires_at_ms !== null && row.expires_at_ms <= clock.nowMs()
    if (!isOver && !(await parts.isBoundAlive(row.parent))) return undefined
    const found = knownFrom(row, roles)
    if (parts.mayCache() && epoch === epochBefore) remember(known, sha256, found)
    return found
  }
  return {
    get epoch() {
      return parts.mayCache() ? epoch : undefined
    },
    authenticate: async (token) => {
      const kind = tokenKindOf(token)
      if (kind === undefined) return parts.sessions?.authenticate(token)
      if (kind !== 'api') return undefined
      const sha256 = tokenSha256(token)
      const found = (parts.mayCache() ? known.get(sha256) : undefined) ?? (await look(sha256))
      if (found === undefined) return undefined
      const nowMs = clock.nowMs()
      if (found.expiresAtMs !== undefined && found.expiresAtMs <= nowMs) {
        known.delete(sha256)
        throw tokenExpired()
      }
      lastUse.touch(found.id, nowMs)
      return found
    },
    forget: (sha256) => {
      epoch = {}
      known.delete(sha256)
    },
    forgetSessions: () => {
      epoch = {}
      known.clear()
      parts.sessions?.forget()
    },
  }
}

function knownFrom(row: TokenRow, roles: ReadonlySet<Role>): AuthenticatedPrincipal {
  const principal: Principal = { kind: 'token', id: row.id, name: row.name, roles }
  return row.expires_at_ms === null ? principal : { ...principal, expiresAtMs: row.expires_at_ms }
}

function remember(
  known: Map<string, AuthenticatedPrincipal>,
  sha256: string,
  found: AuthenticatedPrincipal,
): void {
  const oldest = known.keys().next()
  if (known.size >= MAX_KNOWN && oldest.done !== true) known.delete(oldest.value)
  known.set(sha256, found)
}
