import type { AuthenticatedPrincipal, Clock, Principal, Reader } from '@steeple/contracts'
import type { Jwts } from './jwt.ts'
import { findSession } from './session-store.ts'
import { isOver } from './sessions.ts'
import { findUser, principalOf } from './user-store.ts'

/** Who a JWT stands for now. */
export interface SessionAuthenticator {
  authenticate(token: string): Promise<AuthenticatedPrincipal | undefined>
  /** Forgets what it knows of sessions; call it when one has ended or a user has changed. */
  forget(): void
}

export interface SessionAuthenticatorParts {
  readonly reader: Reader
  readonly clock: Clock
  readonly jwts: Jwts
  /** Whether the session whose link has opened one is alive. */
  isBoundAlive(parent: string | null): Promise<boolean>
  /** Whether sessions may be kept in memory now: not while another process or copy may end them. */
  mayCache(): boolean
}

/** Bound of the cache. Only live sessions get into it. */
const MAX_KNOWN = 1_000

/**
 * The JWT says which session; session and roles are read from the store, so that an ended session and a role that was
 * taken away open nothing from the next request on.
 */
export function createSessionAuthenticator(parts: SessionAuthenticatorParts): SessionAuthenticator {
  const { reader, clock } = parts
  const known = new Map<string, Principal>()
  // Another one each time: what was read before must not enter the cache after it.
  let epoch = {}
  const look = async (sessionId: string, userId: string): Promise<Principal | undefined> => {
    const epochBefore = epoch
    const session = await findSession(reader, sessionId)
    if (session === undefined || session.user_id !== userId || isOver(session, clock.nowMs()))
      return undefined
    const user = await findUser(reader, userId)
    if (user === undefined || !(await parts.isBoundAlive(session.parent))) return undefined
    const principal = { ...principalOf(user), via: `session:${sessionId}` }
    if (parts.mayCache() && epoch === epochBefore) {
      if (known.size >= MAX_KNOWN) known.clear()
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
