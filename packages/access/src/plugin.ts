import {
  auditTrailRef,
  authenticatorRef,
  bootstrapTokensRef,
  type Context,
  type Instance,
  operatorCertificatesRef,
  type Plugin,
  policyRef,
  type Reader,
  type Route,
  recordSchema,
  route,
  systemPrincipal,
  type TableSpec,
  timestampOrNull,
  tokenMintRef,
} from '@steeple/contracts'
import { auditRoutes } from './audit-routes.ts'
import {
  createAuthenticator,
  createLastUse,
  createOperatorCertificates,
  createSessionAuthenticator,
} from './authenticator.ts'
import { certificateRoutes } from './certificates/certificate-routes.ts'
import { CERTIFICATES, removeOver } from './certificates/certificate-store.ts'
import { BOOTSTRAP_TOKEN, INVITATION, RECOVERY_CODE } from './closed-kinds.ts'
import { endToken } from './derived/end-derived.ts'
import { isBoundAlive } from './derived/source.ts'
import { linkRoutes } from './links/link-routes.ts'
import { LINKS, removeAllLinks } from './links/link-store.ts'
import { createLinks } from './links/links.ts'
import { MIGRATIONS } from './migrations.ts'
import { createTokenMint } from './new-token.ts'
import { CHALLENGE_LIFE_MS } from './passkeys/challenge.ts'
import { passkeyRoutes } from './passkeys/passkey-routes.ts'
import {
  allPasskeys,
  keepNewerCount,
  PASSKEY_TABLES,
  removeUsed,
  useChallengesUntil,
} from './passkeys/passkey-store.ts'
import { authRoutes } from './people/auth-routes.ts'
import { invitationRoutes } from './people/invitation-routes.ts'
import {
  allInvitations,
  endInvitation,
  findInvitationById,
  INVITATIONS,
  keepEnded,
} from './people/invitation-store.ts'
import { LOCKOUT_TABLES } from './people/lockout.ts'
import { ownPasswordRoute, ownRecoveryRoutes } from './people/own-account.ts'
import type { ScryptCost } from './people/password.ts'
import { createPeople } from './people/people.ts'
import { stepAt } from './people/second-factor.ts'
import { closeRecoveryCodes, SECOND_FACTOR_TABLES, useStepsUntil } from './people/second-factor-store.ts'
import { sessionRoutes } from './people/session-routes.ts'
import { removeAllSessions, SESSIONS } from './people/session-store.ts'
import { userRoutes } from './people/user-routes.ts'
import { USERS } from './people/user-store.ts'
import { createBootstrapTokens, tokenRoutes } from './token-routes.ts'
import { consoleTokens, listExpired, openBootstraps, removeToken, TABLES, TOKENS } from './token-store.ts'

const SCHEMA = recordSchema({
  kind: { type: 'string', description: 'user, token, admin-env or cli; more may come.' },
  name: { type: 'string' },
  roles: { type: 'array', items: { type: 'string' }, description: 'With all that they include.' },
  expires_at: { type: ['string', 'null'], description: 'When the credential ends; null when it does not.' },
})

/** `GET /v1/auth/me`: as whom a credential speaks. */
function ownPrincipalRoute(): Route {
  return route({
    method: 'GET',
    path: '/v1/auth/me',
    role: 'viewer',
    summary: 'Show who you are by the credential of this request, and what you may do',
    description: 'Kind, name and roles of the credential, with everything that these roles include.',
    schema: { response: SCHEMA },
    handle: async ({ principal: { kind, name, roles, expiresAtMs } }) => ({
      body: { kind, name, roles: [...roles].sort(), expires_at: timestampOrNull(expiresAtMs ?? null) },
    }),
  })
}

/** The tables of people, for the integrity scan. */
const PEOPLE_TABLES: readonly TableSpec[] = [
  USERS,
  ...SECOND_FACTOR_TABLES,
  SESSIONS,
  INVITATIONS,
  ...LOCKOUT_TABLES,
  CERTIFICATES,
  ...PASSKEY_TABLES,
  LINKS,
]

/** At most one write per token and minute. */
const FLUSH_MS = 60_000
/** How often failed logins and sessions that are over are swept out. */
const SWEEP_MS = 900_000
/** Longer than the copy before this one may take to answer its last requests, which can delete tokens (5 s). */
const HANDOVER_MS = 10_000

/** Who may do what and who did what: people, scoped tokens and the audit listing. */
export const plugin: Plugin = pluginWith()

/** The same with passwords that cost less, for tests that are not about them. */
export function pluginWith(passwordCost?: ScryptCost): Plugin {
  return {
    migrations: MIGRATIONS,
    tables: [...TABLES, ...PEOPLE_TABLES],
    restored: endWhatWasOpen,
    setup: (context) => setUp(context, passwordCost),
  }
}

async function setUp(context: Context, passwordCost: ScryptCost | undefined): Promise<Instance> {
  const { clock, db } = context
  const isUpgrade = context.maybe(authenticatorRef) !== undefined
  const cachesFromMs = clock.monotonicMs() + (isUpgrade ? HANDOVER_MS : 0)
  const lastUse = createLastUse(db)
  // On PostgreSQL another instance may delete a token; so may another copy of this plugin during an upgrade.
  const mayCache = (): boolean =>
    db.dialect === 'sqlite' && !context.retiring.aborted && clock.monotonicMs() >= cachesFromMs
  const people = createPeople(context, () => authenticator.forgetSessions(), passwordCost)
  const { environment } = people
  const isAliveIn = (reader: Reader, parent: string | null): Promise<boolean> =>
    isBoundAlive({ reader, nowMs: clock.nowMs(), environment }, parent)
  const parts = {
    reader: db,
    clock,
    mayCache,
    isBoundAlive: (parent: string | null) => isAliveIn(db, parent),
  }
  const sessions = createSessionAuthenticator({ ...parts, jwts: people.jwts })
  const authenticator = createAuthenticator({ ...parts, lastUse, sessions })
  const links = createLinks(clock, environment)
  return {
    routes: [
      ...linkRoutes(people, links),
      ...tokenRoutes(context, authenticator, lastUse),
      ...auditRoutes(context),
      ...authRoutes(people),
      ...sessionRoutes(people),
      ownPasswordRoute(people),
      ...ownRecoveryRoutes(people),
      ownPrincipalRoute(),
      ...userRoutes(people),
      ...invitationRoutes(people),
      ...passkeyRoutes(people),
      ...certificateRoutes(people),
    ],
    services: new Map<string, object>([
      [authenticatorRef.id, authenticator],
      [bootstrapTokensRef.id, createBootstrapTokens(context, isAliveIn)],
      [tokenMintRef.id, createTokenMint(context, links)],
      [
        operatorCertificatesRef.id,
        createOperatorCertificates({ ...parts, caSha256: people.identity.caSha256 }),
      ],
    ]),
    start: async () => {
      context.every(FLUSH_MS, () => lastUse.flush(), 'each')
      context.every(FLUSH_MS, () => people.failures.flush(), 'each')
      context.every(SWEEP_MS, () => people.sweep())
      keepRetention(context)
    },
    stop: async () => {
      await lastUse.flush()
      await people.failures.flush()
    },
  }
}

type Restored = Parameters<NonNullable<Plugin['restored']>>

/**
 * Whoever was logged in then is not now. What is good for one use may have been used since: it is closed, or removed where the
 * store that is replaced knows that it was.
 */
export async function endWhatWasOpen(tx: Restored[0], at: Restored[1]): Promise<void> {
  await removeAllSessions(tx)
  await removeAllLinks(tx)
  for (const { id } of await consoleTokens(tx)) await removeToken(tx, id)
  await closeInvitations(tx, at)
  await closeBootstraps(tx, at)
  for (const userId of await closeRecoveryCodes(tx)) at.close({ kind: RECOVERY_CODE, id: userId })
  // A phone may be a step ahead.
  await useStepsUntil(tx, stepAt(at.nowMs) + 1)
  await useChallengesUntil(tx, at.nowMs + CHALLENGE_LIFE_MS)
  const { present } = at
  if (present === undefined) return
  for (const row of await allPasskeys(present.db)) await keepNewerCount(tx, row)
}

async function closeInvitations(tx: Restored[0], { present, close, nowMs }: Restored[1]): Promise<void> {
  for (const { id, expires_at_ms: untilMs } of await allInvitations(tx)) {
    const isGone = present !== undefined && (await findInvitationById(present.db, id)) === undefined
    if (isGone) await endInvitation(tx, id, nowMs)
    else close({ kind: INVITATION, id, untilMs })
  }
  if (present !== undefined) await keepEnded(tx, present.db)
}

async function closeBootstraps(tx: Restored[0], { present, close }: Restored[1]): Promise<void> {
  for (const { id, expires_at_ms: untilMs } of await openBootstraps(tx)) {
    const now = present === undefined ? undefined : await TOKENS.find(present.db, { id })
    if (present !== undefined && (now === undefined || now.used_at_ms !== null)) await removeToken(tx, id)
    else close({ kind: BOOTSTRAP_TOKEN, id, ...(untilMs === null ? {} : { untilMs }) })
  }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Specification, Limits: retention of the audit trail while no policy is loaded. */
const DEFAULT_AUDIT_DAYS = 400
/** An expired token answers `token_expired` for so long; then it is unknown. */
const EXPIRED_TOKEN_DAYS = 30
const MAX_TOKENS_PER_DAY = 10_000
const CHUNK_TOKENS = 500

/** Looks hourly whether a day has passed, and then removes what is older than the policy keeps, by a believed clock. */
export function keepRetention(context: Context): void {
  let lastRunMs: number | undefined
  context.every(HOUR_MS, async () => {
    const nowMs = context.clock.monotonicMs()
    if (lastRunMs !== undefined && nowMs - lastRunMs < DAY_MS) return
    if (context.clock.doubt?.() !== undefined) return
    await pruneAudit(context)
    await pruneTokens(context)
    await pruneCertificates(context)
    lastRunMs = nowMs
  })
}

async function pruneAudit(context: Context): Promise<void> {
  const days = context.maybe(policyRef)?.bundle().retention_days.audit ?? DEFAULT_AUDIT_DAYS
  const removed = await context.use(auditTrailRef).prune(context.clock.nowMs() - days * DAY_MS)
  if (removed > 0) context.log.info({ removed, days }, 'audit trail pruned')
}

async function pruneTokens(context: Context): Promise<void> {
  const beforeMs = context.clock.nowMs() - EXPIRED_TOKEN_DAYS * DAY_MS
  for (let removed = 0; removed < MAX_TOKENS_PER_DAY; ) {
    const rows = await listExpired(context.db, beforeMs, CHUNK_TOKENS)
    if (rows.length === 0) return
    await context.mutate(systemPrincipal('access'), 'token.prune', 'expired', async (tx) => {
      for (const row of rows) await endToken(tx, row.id, context.clock.nowMs())
      tx.audit({ detail: { removed: rows.length } })
    })
    removed += rows.length
  }
}

/** Certificates that are over for as long as tokens, and challenges of passkeys that cannot come again. */
async function pruneCertificates(context: Context): Promise<void> {
  const nowMs = context.clock.nowMs()
  const beforeMs = nowMs - EXPIRED_TOKEN_DAYS * DAY_MS
  for (let removed = CHUNK_TOKENS; removed === CHUNK_TOKENS; )
    removed = await context.db.write((tx) => removeOver(tx, beforeMs, CHUNK_TOKENS))
  for (let removed = CHUNK_TOKENS; removed === CHUNK_TOKENS; )
    removed = await context.db.write((tx) => removeUsed(tx, nowMs, CHUNK_TOKENS))
}
