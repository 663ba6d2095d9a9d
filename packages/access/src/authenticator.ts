import { hash, randomBytes } from 'node:crypto'
import {
  type AuthenticatedPrincipal,
  type Authenticator,
  type CertificateHolders,
  type Clock,
  certificateRevoked,
  type Db,
  type Principal,
  type Reader,
  type Role,
  tokenExpired,
} from '@steeple/contracts'
import { CERTIFICATES } from './certificates/certificate-store.ts'
import type { Jwts } from './people/jwt.ts'
import { SESSIONS } from './people/session-store.ts'
import { isOver } from './people/sessions.ts'
import { principalOf, USERS } from './people/user-store.ts'
import { rolesNow } from './token-owner.ts'
import { findByHash, lastUseOf, putUses, type TokenRow } from './token-store.ts'

/** Contract section 1: 32 random bytes in base64url. */
const SECRET_BYTES = 32
/** Contract section 1: how much of the SHA-256 of the node's CA a bootstrap token carries, in hex characters. */
const CA_PREFIX_LENGTH = 32
const API_TOKEN = /^svc_[A-Za-z0-9_-]{43}$/
const BOOTSTRAP_TOKEN = /^svcb_[0-9a-f]{32}_[A-Za-z0-9_-]{43}$/

/** What a token opens: the routes of its roles, or the enroll route once. */
export type TokenKind = 'api' | 'bootstrap'

/** A new token: `svc_<secret>`, or `svcb_<CA hash>_<secret>` so that the joining node can check the server first. */
export function newToken(kind: TokenKind, caSha256: string): string {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return kind === 'api' ? `svc_${secret}` : `svcb_${caSha256.slice(0, CA_PREFIX_LENGTH)}_${secret}`
}

/** The kind that a text has the form of; undefined when it is no token of ours. */
export function tokenKindOf(text: string): TokenKind | undefined {
  if (API_TOKEN.test(text)) return 'api'
  return BOOTSTRAP_TOKEN.test(text) ? 'bootstrap' : undefined
}

/** SHA-256 of the whole token as hex: the only form in which a token is kept. */
export function tokenSha256(token: string): string {
  return hash('sha256', token)
}

/** Remembers when tokens were used and writes it seldom. */
export interface LastUse {
  touch(tokenId: string, atMs: number): void
  /** The newest use known, flushed or not; ms since the epoch. */
  of(tokenId: string): Promise<number | undefined>
  /** Writes what is new: at most one write per token and call. */
  flush(): Promise<void>
}

/** So many tokens share a transaction: others wait for it. */
const CHUNK_TOKENS = 200

/** Makes the memory of uses over the token store. A crash loses at most the uses since the last flush. */
export function createLastUse(db: Db): LastUse {
  const pending = new Map<string, number>()
  return {
    touch: (tokenId, atMs) => {
      pending.set(tokenId, atMs)
    },
    of: async (tokenId) => pending.get(tokenId) ?? lastUseOf(db, tokenId),
    flush: async () => {
      while (pending.size > 0) {
        const chunk = new Map([...pending].slice(0, CHUNK_TOKENS))
        await putUses(db, chunk)
        for (const [tokenId, atMs] of chunk) if (pending.get(tokenId) === atMs) pending.delete(tokenId)
      }
    },
  }
}

/** What credentials are looked up with. */
interface Parts {
  readonly reader: Reader
  readonly clock: Clock
  /** Whether what a credential ends with is alive. */
  isBoundAlive(parent: string | null): Promise<boolean>
  /** Whether live credentials may be kept in memory now: not while another process or copy may end them. */
  mayCache(): boolean
}

interface AuthenticatorParts extends Parts {
  readonly lastUse: LastUse
  /** Knows the JWT of people; without it there are none. */
  readonly sessions?: SessionAuthenticator
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
 * A token is looked up by its SHA-256, so the time of the search tells nothing of a stored token.
 */
export function createAuthenticator(parts: AuthenticatorParts): CachedAuthenticator {
  const { reader, clock, lastUse } = parts
  const known = new Map<string, AuthenticatedPrincipal>()
  // Another one after each deletion: a row that was read before one must not enter the cache after it.
  let epoch = {}
  const look = async (sha256: string): Promise<AuthenticatedPrincipal | undefined> => {
    const epochBefore = epoch
    const row = await findByHash(reader, sha256)
    if (row?.kind !== 'api') return undefined
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

/** Who a JWT stands for now. */
interface SessionAuthenticator {
  authenticate(token: string): Promise<AuthenticatedPrincipal | undefined>
  /** Forgets what it knows of sessions; call it when one has ended or a user has changed. */
  forget(): void
}

/** Bound of the cache. Only live sessions get into it. */
const MOST_SESSIONS = 1_000

/**
 * The JWT says which session; session and roles are read from the store, so that an ended session and a role that was
 * taken away open nothing from the next request on.
 */
export function createSessionAuthenticator(parts: Parts & { readonly jwts: Jwts }): SessionAuthenticator {
  const { reader, clock } = parts
  const known = new Map<string, Principal>()
  // Another one each time: what was read before must not enter the cache after it.
  let epoch = {}
  const look = async (sessionId: string, userId: string): Promise<Principal | undefined> => {
    const epochBefore = epoch
    const session = await SESSIONS.find(reader, { id: sessionId })
    if (session === undefined || session.user_id !== userId || isOver(session, clock.nowMs()))
      return undefined
    const user = await USERS.find(reader, { id: userId })
    if (user === undefined || !(await parts.isBoundAlive(session.parent))) return undefined
    const principal = { ...principalOf(user), via: `session:${sessionId}` }
    if (parts.mayCache() && epoch === epochBefore) {
      if (known.size >= MOST_SESSIONS) known.clear()
      known.set(sessionId, principal)
    }
    return principal
  }
  return {
    authenticate: async (token) => {
      const claims = await parts.jwts.read(token, clock.nowMs())
      if (claims === undefined) return undefined
      const cached = parts.mayCache() ? known.get(claims.sessionId) : undefined
      const principal = cached ?? (await look(claims.sessionId, claims.userId))
      return principal === undefined ? undefined : { ...principal, expiresAtMs: claims.expiresAtMs }
    },
    forget: () => {
      epoch = {}
      known.clear()
    },
  }
}

/**
 * Says which user an operator's certificate stands for: two rows by their keys, read at each request, so that a role that
 * is taken away and a revocation hold on the next one, on open connections too.
 *
 * A certificate of this box's CA whose serial was never written down here stands for nobody. One of a user that is gone is
 * as good as revoked.
 */
export function createOperatorCertificates(
  parts: Pick<Parts, 'reader' | 'isBoundAlive'> & {
    /** SHA-256 of the DER of this box's own CA: no other one makes operators here. */
    readonly caSha256: string
  },
): CertificateHolders {
  const { reader, caSha256 } = parts
  return {
    holderOf: async (certificate): Promise<AuthenticatedPrincipal | undefined> => {
      if (certificate.caSha256 !== caSha256) return undefined
      const row = await CERTIFICATES.find(reader, { serial: certificate.serial })
      if (row === undefined || row.name !== certificate.name) return undefined
      const isLive = row.revoked_at_ms === null && (await parts.isBoundAlive(row.parent))
      const user = isLive ? await USERS.find(reader, { id: row.user_id }) : undefined
      if (user === undefined) throw certificateRevoked()
      const expiresAtMs = Math.min(row.expires_at_ms, certificate.notAfterMs)
      return { ...principalOf(user), kind: 'cli', expiresAtMs, via: `certificate:${row.serial}` }
    },
  }
}
