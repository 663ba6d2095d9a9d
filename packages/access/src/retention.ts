import { auditTrailRef, type Context, policyRef, systemPrincipal } from '@steeple/contracts'
import { removeOver } from './certificates/certificate-store.ts'
import { endToken } from './derived/end-derived.ts'
import { removeUsed } from './passkeys/passkey-store.ts'
import { listExpired } from './token-store.ts'

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
