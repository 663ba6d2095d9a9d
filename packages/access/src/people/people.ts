import {
  type Context,
  type NodeIdentity,
  nodeIdentityRef,
  type SessionKeys,
  sessionKeysRef,
  type Vault,
  vaultRef,
} from '@steeple/contracts'
import { endOverSessions } from '../derived/end-derived.ts'
import { environmentPrint } from '../derived/parent.ts'
import { createFailureTrail, type FailureTrail } from './failure-trail.ts'
import { removeExpiredInvitations } from './invitation-store.ts'
import { createJwts, type Jwts } from './jwt.ts'
import { createLockout, type Lockout } from './lockout.ts'
import type { ScryptCost } from './password.ts'
import { createPasswordGate, GATE_LIMITS, type PasswordGate } from './password-gate.ts'
import { createRefreshTokens } from './refresh-token.ts'
import { createSessions, SESSION_IDLE_MS, type Sessions } from './sessions.ts'

/** What the routes of people work with. */
export interface People {
  readonly context: Context
  readonly vault: Vault
  readonly keys: SessionKeys
  readonly identity: NodeIdentity
  /** See `environmentPrint`. */
  readonly environment: string
  readonly jwts: Jwts
  readonly gate: PasswordGate
  readonly lockout: Lockout
  readonly failures: FailureTrail
  readonly sessions: Sessions
  /** To be called, after the commit, when a session or a user has lost something: what is in memory is read again. */
  forget(): void
  /** Removes what has ended by its age, by a believed clock. */
  sweep(): Promise<void>
}

/** Opens keys and counters of people. `forget` makes the authenticator read sessions again, `cost` is that of new passwords. */
export function createPeople(context: Context, forget: () => void, cost?: ScryptCost): People {
  const vault = context.use(vaultRef)
  const keys = context.use(sessionKeysRef)
  const identity = context.use(nodeIdentityRef)
  vault.register({ table: 'access_totp', key: 'user_id', columns: ['secret'] })
  const jwts = createJwts(keys, `svc:${identity.nodeId}`)
  const refreshTokens = createRefreshTokens(keys)
  const lockout = createLockout(context, keys)
  return {
    context,
    vault,
    keys,
    identity,
    environment: environmentPrint(keys, process.env[context.settings.auth.admin_token_env]),
    jwts,
    forget,
    gate: createPasswordGate(GATE_LIMITS, cost),
    lockout,
    failures: createFailureTrail(context),
    sessions: createSessions({ context, jwts, refreshTokens, forget }),
    sweep: async () => {
      if (context.clock.doubt?.() !== undefined) return
      await lockout.sweep()
      const nowMs = context.clock.nowMs()
      await context.db.write(async (tx) => {
        await endOverSessions(tx, nowMs, nowMs - SESSION_IDLE_MS)
        await removeExpiredInvitations(tx, nowMs)
      })
    },
  }
}
