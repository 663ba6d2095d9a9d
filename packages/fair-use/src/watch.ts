import { type ComponentHealth, createPause } from '@steeple/contracts'
import { accountsOf } from './account.ts'
import type { FairUseParts } from './parts.ts'
import { countByAction, hashesAfter } from './store/quota-store.ts'

/** Quotas that are looked at in one go. */
const LOOK = 500

/** Counts quotas, and those that are used up, for the metrics. */
export async function countQuotas({ context, clock, metrics, ledger }: FairUseParts): Promise<void> {
  const over = new Map<string, number>()
  const pause = createPause()
  for (let after = ''; ; ) {
    const hashes = await hashesAfter(context.db, after, LOOK)
    for (const { isOver, quota } of (await accountsOf(context.db, hashes, clock)).values())
      if (isOver) over.set(quota.action, (over.get(quota.action) ?? 0) + 1)
    const last = hashes.at(-1)
    if (hashes.length < LOOK || last === undefined) break
    after = last
    await pause()
  }
  metrics.counted(await countByAction(context.db), over)
  const { atMs, reason } = ledger.knownUntil()
  const ageMs = reason === undefined ? 0 : context.clock.nowMs() - (atMs ?? Number.NaN)
  metrics.unknown(Math.max(0, ageMs) / 1_000)
}

/** Whether quotas can be held to: usage that is not known is used by nobody's count. */
export async function quotaHealth({ context, ledger }: FairUseParts): Promise<ComponentHealth> {
  const quotas = [...(await countByAction(context.db)).values()].reduce((sum, count) => sum + count, 0)
  const { atMs, reason } = ledger.knownUntil()
  const part = { name: 'quotas', kind: 'feature' } as const
  if (quotas === 0) return { ...part, status: 'ok', detail: 'no SIM has a quota' }
  // Who has switched collectors off counts by reports, and is told in each record.
  if (reason !== undefined && context.settings.collector.enabled) {
    const since =
      atMs === undefined ? 'is not known yet' : `is known up to ${new Date(atMs).toISOString()} alone`
    const detail = `usage ${since}: ${reason}; ${quotas} quotas go by what was counted before`
    return { ...part, status: 'degraded', detail }
  }
  const facts = [
    `${quotas} SIMs have a quota`,
    ...(context.config.enabled ? [] : ['fairuse.enabled is false: nobody is suspended']),
    ...(context.settings.collector.enabled ? [] : ['collector.enabled is false: only reports count']),
  ]
  return { ...part, status: 'ok', detail: facts.join('; ') }
}
