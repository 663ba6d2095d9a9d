import { authenticatorRef, bootstrapTokensRef, type Plugin, tokenMintRef } from '@steeple/contracts'
import { auditRoutes } from './audit-routes.ts'
import { createAuthenticator } from './authenticator.ts'
import { createBootstrapTokens } from './bootstrap-tokens.ts'
import { createLastUse } from './last-use.ts'
import { MIGRATIONS } from './migrations.ts'
import { keepRetention } from './retention.ts'
import { createTokenMint } from './token-mint.ts'
import { tokenRoutes } from './token-routes.ts'
import { TABLES } from './token-store.ts'

/** At most one write per token and minute. */
const FLUSH_MS = 60_000
/** Longer than the copy before this one may take to answer its last requests, which can delete tokens (5 s). */
const HANDOVER_MS = 10_000

/** Who may do what and who did what: scoped tokens and the audit listing. */
export const plugin: Plugin = {
  migrations: MIGRATIONS,
  tables: TABLES,
  setup: async (context) => {
    const { clock, db } = context
    const isUpgrade = context.maybe(authenticatorRef) !== undefined
    const cachesFromMs = clock.monotonicMs() + (isUpgrade ? HANDOVER_MS : 0)
    const lastUse = createLastUse(db)
    const authenticator = createAuthenticator({
      reader: db,
      clock,
      lastUse,
      // On PostgreSQL another instance may delete a token; so may another copy of this plugin during an upgrade.
      mayCache: () =>
        db.dialect === 'sqlite' && !context.retiring.aborted && clock.monotonicMs() >= cachesFromMs,
    })
    return {
      routes: [...tokenRoutes(context, authenticator, lastUse), ...auditRoutes(context)],
      services: new Map<string, object>([
        [authenticatorRef.id, authenticator],
        [bootstrapTokensRef.id, createBootstrapTokens(context)],
        [tokenMintRef.id, createTokenMint(context)],
      ]),
      start: async () => {
        context.every(FLUSH_MS, () => lastUse.flush(), 'each')
        keepRetention(context)
      },
      stop: () => lastUse.flush(),
    }
  },
}
