import type { Clock, Log } from '@steeple/contracts'
import type { Database, ScanPace } from '@steeple/store'
import type { AuditAnchor } from './audit-anchor.ts'
import { anchorTrail } from './audit-beginning.ts'
import type { AuditSeal } from './audit-seal.ts'
import { auditShortfall } from './audit-triggers.ts'
import { type AuditVerdict, headOrReason, verifyAudit } from './audit-verify.ts'

/** What a check of the whole trail looks at. */
export interface AuditCheckOptions {
  readonly db: Database
  readonly seal: AuditSeal
  readonly anchor: AuditAnchor
  /** At full speed when absent. */
  readonly pace?: ScanPace
}

/** Checks the chain, and that everything that protects it is in place: tables, triggers, anchor. */
export async function checkAudit({ db, seal, anchor, pace }: AuditCheckOptions): Promise<AuditVerdict> {
  const around = await protectionProblems(db, anchor)
  if (around.isUnreadable) return { ok: false, checked: 0, reason: around.problems.join('; ') }
  const chain = await verifyAudit(db, seal, pace)
  if (around.problems.length === 0) return chain
  const reason = [...(chain.reason === undefined ? [] : [chain.reason]), ...around.problems].join('; ')
  return { ...chain, ok: false, reason }
}

/**
 * What a start does: looks at head, tables, triggers and anchor (not at the entries), and makes the anchor when there is
 * none. Returns what is wrong; undefined when nothing is.
 */
export async function settleAudit(
  options: AuditCheckOptions & { readonly clock: Clock; readonly log: Log },
): Promise<string | undefined> {
  const { db, seal, anchor, clock, log } = options
  const { isUnreadable, problems } = await protectionProblems(db, anchor)
  const head = isUnreadable ? undefined : await headOrReason(db, seal)
  if (typeof head === 'object' && (await anchorTrail(db, { anchor, clock })))
    log.warn(
      {},
      'the store is new, but this node had an audit trail before; the new one says so in its entry 1',
    )
  const all = typeof head === 'string' ? [head, ...problems] : problems
  if (all.length === 0) return undefined
  const reason = all.join('; ')
  log.error({ reason }, 'the audit trail is damaged')
  return reason
}

async function protectionProblems(
  db: Database,
  anchor: AuditAnchor,
): Promise<{ readonly isUnreadable: boolean; readonly problems: readonly string[] }> {
  const { tables, triggers } = await auditShortfall(db, db.dialect)
  const isForged = anchor.read()?.isSigned === false
  const problems = [
    ...named('table', tables, 'missing'),
    ...(tables.length > 0
      ? []
      : named('trigger', triggers, 'missing or changed, so the trail is not append-only')),
    ...(isForged ? ['the anchor beside the keys is not signed by this node'] : []),
  ]
  return { isUnreadable: tables.length > 0, problems }
}

function named(kind: string, names: readonly string[], what: string): readonly string[] {
  if (names.length === 0) return []
  return [
    `the ${kind}${names.length > 1 ? 's' : ''} ${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} ${what}`,
  ]
}
