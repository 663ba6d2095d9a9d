import { createPause, type Tx, type UsageIncrement, type UsageListener } from '@steeple/contracts'
import { accountsOf, kindOf } from './account.ts'
import { type FairUseParts, QUOTA_RESOURCE, termsOf } from './parts.ts'
import type { Calendar, Period } from './periods.ts'
import { stepsOf } from './steps.ts'
import { parts as partsOf } from './store/listed.ts'
import { quotaStatesOf } from './store/quota-state-store.ts'
import { periodsOf } from './store/quota-store.ts'
import { addUsed, type UsedRow } from './store/used-store.ts'

/** Counts what comes to count, in the very transaction that keeps it, and has those over an edge looked at after the commit. */
export function usageListener(parts: FairUseParts): UsageListener {
  const { context, clock } = parts
  return {
    counted: async (tx, increments) => {
      const own = context.db.join(tx)
      const bySim = Map.groupBy(increments, ({ imsi }): string => imsi)
      const nowMs = Math.floor(context.clock.nowMs())
      // Requests go on meanwhile.
      const pause = createPause()
      for (const hashes of partsOf([...bySim.keys()])) {
        const periods = await periodsOf(own, hashes)
        if (periods.size === 0) continue
        const theirs = [...periods.keys()].flatMap((hash) => bySim.get(hash) ?? [])
        await addUsed(own, rowsOf(theirs, periods, clock.calendar, nowMs))
        await noticeEdges(parts, own, [...periods.keys()])
        await pause()
      }
    },
  }
}

/** What is to be added to which period, one row for each SIM and period. */
function rowsOf(
  increments: readonly UsageIncrement[],
  periods: ReadonlyMap<string, Period>,
  calendar: Calendar,
  nowMs: number,
): readonly UsedRow[] {
  const rows = new Map<string, UsedRow>()
  for (const { imsi, fromMs, upBytes, downBytes, isIncomplete } of increments) {
    const period = periods.get(imsi)
    if (period === undefined) continue
    const kind = kindOf(period)
    const { startMs } = calendar.spanOf(kind, fromMs)
    const key = `${imsi} ${startMs}`
    const before = rows.get(key)
    rows.set(key, {
      hash: imsi,
      kind,
      starts_at_ms: startMs,
      up_bytes: (before?.up_bytes ?? 0) + upBytes,
      down_bytes: (before?.down_bytes ?? 0) + downBytes,
      is_incomplete: isIncomplete ? 1 : (before?.is_incomplete ?? 0),
      updated_at_ms: nowMs,
    })
  }
  return [...rows.values()]
}

async function noticeEdges(parts: FairUseParts, tx: Tx, hashes: readonly string[]): Promise<void> {
  const accounts = await accountsOf(tx, hashes, parts.clock)
  const quotaStates = await quotaStatesOf(tx, hashes)
  const terms = termsOf(parts)
  for (const [hash, account] of accounts) {
    const quotaState = quotaStates.get(hash)
    const steps = quotaState === undefined ? [] : stepsOf(account, quotaState, terms)
    if (steps.length === 0) continue
    const isUrgent = steps.includes('suspend') || steps.includes('throttle')
    tx.afterCommit(() => parts.context.enqueue(QUOTA_RESOURCE, hash, isUrgent))
  }
}
