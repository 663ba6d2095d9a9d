import {
  type Context,
  createRefusalTrail,
  type NodeIdentity,
  nodeIdentityRef,
  type Request,
  type ServiceError,
  type SessionKeys,
  sessionKeysRef,
  systemPrincipal,
  type Vault,
  vaultRef,
} from '@steeple/contracts'
import { endOverSessions } from '../derived/end-derived.ts'
import { environmentPrint } from '../derived/parent.ts'
import { removeExpiredInvitations } from './invitation-store.ts'
import { createJwts, type Jwts } from './jwt.ts'
import { createLockout, type Lockout } from './lockout.ts'
import { createPasswordGate, GATE_LIMITS, type PasswordGate, type ScryptCost } from './password.ts'
import { createRefreshTokens, createSessions, SESSION_IDLE_MS, type Sessions } from './sessions.ts'

/** A try that failed, as the audit trail is to have it. */
interface Failure {
  /** Whom it was about: a user's id, or `nobody`. */
  readonly target: string
  readonly network: string
  /** What the try has locked. */
  readonly locks?: 'name' | 'network' | undefined
  /** The answer. */
  readonly error: ServiceError
}

/** Writes failed logins into the audit trail: one by one as long as they are few, in sum beyond that. */
interface FailureTrail {
  /** Writes the failure, under the action of the request, and throws its error. */
  refuse(request: Pick<Request, 'mutate'>, failure: Failure): Promise<never>
  /** Writes the sum of those that were not written one by one. */
  flush(): Promise<void>
}

const MOST_PER_MINUTE = 60
const BY_LOCK = systemPrincipal('access')

/** A trail over `Context.mutate`. */
export function createFailureTrail(context: Pick<Context, 'clock' | 'mutate'>): FailureTrail {
  const trail = createRefusalTrail(context.clock, {
    mostPerMinute: MOST_PER_MINUTE,
    writeSum: (failures) =>
      context.mutate(BY_LOCK, 'auth.flood', 'nobody', async (tx) => {
        tx.audit({ detail: { failures } })
      }),
  })
  return {
    refuse: (request, { target, network, locks, error }) =>
      trail.refuse(request, {
        target,
        detail: { network },
        error,
        alongside: async () => {
          if (locks === undefined) return
          await context.mutate(BY_LOCK, 'auth.lock', target, async (tx) => {
            tx.audit({ detail: { locked: locks, network } })
          })
        },
      }),
    flush: () => trail.flush(),
  }
}

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
