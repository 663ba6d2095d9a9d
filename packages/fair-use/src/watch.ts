import { type ComponentHealth, countText, type ImsiHash, sectionOf } from '@steeple/contracts'
import { type Account, accountsOf } from './account.ts'
import type { FairUseParts } from './parts.ts'
import { WARN_PERCENT } from './steps.ts'
import { countByAction, quotaHashes } from './store/quota-store.ts'

/** Quotas that are looked at in one go. */
const LOOK = 500

/** SIMs at an edge of their quota, with the percentage used. */
export interface QuotaEdges {
  /** At 80 % or more, those over 100 % included. */
  readonly warned: ReadonlyMap<ImsiHash, number>
  /** At 100 % or more. */
  readonly exceeded: ReadonlyMap<ImsiHash, number>
}

/** Counts quotas, and those that are used up, for the metrics; gives who is at an edge. */
export async function countQuotas({ context, clock, metrics, ledger }: FairUseParts): Promise<QuotaEdges> {
  const over = new Map<string, number>()
  const warned = new Map<ImsiHash, number>()
  const exceeded = new Map<ImsiHash, number>()
  for await (const hashes of quotaHashes(context.db, LOOK))
    for (const [hash, account] of await accountsOf(context.db, hashes, clock)) {
      const { isOver, quota } = account
      const percent = percentOf(account)
      if (percent >= WARN_PERCENT) warned.set(hash, percent)
      if (!isOver) continue
      exceeded.set(hash, percent)
      over.set(quota.action, (over.get(quota.action) ?? 0) + 1)
    }
  metrics.counted(await countByAction(context.db), over)
  const { atMs, reason } = ledger.knownUntil()
  const ageMs = reason === undefined ? 0 : context.clock.nowMs() - (atMs ?? Number.NaN)
  metrics.unknown(Math.max(0, ageMs) / 1_000)
  return { warned, exceeded }
}

/** What is used of an allowance, percent; one of 0 is always used up. */
function percentOf({ usedBytes, limitBytes }: Account): number {
  return limitBytes === 0 ? 100 : (usedBytes / limitBytes) * 100
}

/** Whether quotas can be held to: usage that is not known is used by nobody's count. */
export async function quotaHealth({ context, ledger }: FairUseParts): Promise<ComponentHealth> {
  const quotas = [...(await countByAction(context.db)).values()].reduce((sum, count) => sum + count, 0)
  const { atMs, reason } = ledger.knownUntil()
  const part = { name: 'quotas', kind: 'feature' } as const
  const isCollecting = sectionOf(context.settings, 'collector').enabled === true
  if (quotas === 0) return { ...part, status: 'ok', detail: 'no SIM has a quota' }
  // Who has switched collectors off counts by reports, and is told in each record.
  if (reason !== undefined && isCollecting) {
    const since =
      atMs === undefined ? 'is not known yet' : `is known up to ${new Date(atMs).toISOString()} alone`
    const detail = `usage ${since}: ${reason}; ${countText(quotas, 'quota goes', 'quotas go')} by what was counted before`
    return { ...part, status: 'degraded', detail }
  }
  const facts = [
    countText(quotas, 'SIM has a quota', 'SIMs have a quota'),
    ...(context.config.enabled
      ? []
      : ['fairuse.enabled is false: nobody is suspended, whatever a quota says']),
    ...(isCollecting ? [] : ['collector.enabled is false: only reports count']),
  ]
  return { ...part, status: 'ok', detail: facts.join('; ') }
}
