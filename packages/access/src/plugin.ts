import {
  authenticatorRef,
  bootstrapTokensRef,
  type Context,
  type Instance,
  objectSchema,
  operatorCertificatesRef,
  type Plugin,
  type Reader,
  type Route,
  route,
  type TableSpec,
  timestampOrNull,
  tokenMintRef,
} from '@steeple/contracts'
import { auditRoutes } from './audit-routes.ts'
import { createAuthenticator, createLastUse } from './authenticator.ts'
import { certificateRoutes } from './certificates/certificate-routes.ts'
import { CERTIFICATE_TABLES } from './certificates/certificate-store.ts'
import { createOperatorCertificates, findHolder } from './certificates/operator-certificates.ts'
import { isBoundAlive } from './derived/source.ts'
import { linkRoutes } from './links/link-routes.ts'
import { LINK_TABLES } from './links/link-store.ts'
import { createLinks } from './links/links.ts'
import { MIGRATIONS } from './migrations.ts'
import { passkeyRoutes } from './passkeys/passkey-routes.ts'
import { PASSKEY_TABLES } from './passkeys/passkey-store.ts'
import { authRoutes } from './people/auth-routes.ts'
import { invitationRoutes } from './people/invitation-routes.ts'
import { INVITATION_TABLES } from './people/invitation-store.ts'
import { LOCKOUT_TABLES } from './people/lockout.ts'
import { ownPasswordRoute, ownRecoveryRoutes } from './people/own-password.ts'
import type { ScryptCost } from './people/password.ts'
import { createPeople } from './people/people.ts'
import { SECOND_FACTOR_TABLES } from './people/second-factor-store.ts'
import { createSessionAuthenticator } from './people/session-authenticator.ts'
import { sessionRoutes } from './people/session-routes.ts'
import { SESSION_TABLES } from './people/session-store.ts'
import { userRoutes } from './people/user-routes.ts'
import { USER_TABLES } from './people/user-store.ts'
import { endWhatWasOpen } from './restored.ts'
import { keepRetention } from './retention.ts'
import { createTokenMint } from './token-mint.ts'
import { createBootstrapTokens, tokenRoutes } from './token-routes.ts'
import { TABLES } from './token-store.ts'

const SCHEMA = objectSchema(
  {
    kind: { type: 'string', description: 'user, token, admin-env or cli; more may come.' },
    name: { type: 'string' },
    roles: { type: 'array', items: { type: 'string' }, description: 'With all that they include.' },
    expires_at: { type: ['string', 'null'], description: 'When the credential ends; null when it does not.' },
  },
  ['kind', 'name', 'roles', 'expires_at'],
)

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
  ...USER_TABLES,
  ...SECOND_FACTOR_TABLES,
  ...SESSION_TABLES,
  ...INVITATION_TABLES,
  ...LOCKOUT_TABLES,
  ...CERTIFICATE_TABLES,
  ...PASSKEY_TABLES,
  ...LINK_TABLES,
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
        createOperatorCertificates({ ...parts, caSha256: people.identity.caSha256, findHolder }),
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
