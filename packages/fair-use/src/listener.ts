import { chunksOf, createPause, type Tx, type UsageIncrement, type UsageListener } from '@steeple/contracts'
import { kindOf } from './account.ts'
import { type FairUseParts, QUOTA_RESOURCE } from './parts.ts'
import type { Calendar, Period } from './periods.ts'
import { stepsFor } from './steps.ts'
import { periodsOf } from './store/quota-store.ts'
import { addUsed, type UsedRow } from './store/used-store.ts'

/** SIMs of one turn. */
const SIMS_AT_ONCE = 100

/** Counts what comes to count, in the very transaction that keeps it, and has those over an edge looked at after the commit. */
export function usageListener(parts: FairUseParts): UsageListener {
  const { context, clock } = parts
  return {
    counted: async (tx, increments) => {
      const own = context.db.join(tx)
      const bySim = Map.groupBy(increments, ({ imsi }) => imsi)
      const nowMs = Math.floor(context.clock.nowMs())
      // Requests go on meanwhile.
      const pause = createPause()
      for (const hashes of chunksOf([...bySim.keys()], SIMS_AT_ONCE)) {
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
  for (const { hash, steps } of await stepsFor(parts, tx, hashes)) {
    const isUrgent = steps.includes('suspend') || steps.includes('throttle')
    tx.afterCommit(() => parts.context.enqueue(QUOTA_RESOURCE, hash, isUrgent))
  }
}
