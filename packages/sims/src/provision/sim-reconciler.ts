import { setTimeout as wait } from 'node:timers/promises'
import type { Outcome, Reconciler } from '@steeple/contracts'
import { CUT_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { wantedInHss } from '../states/machine.ts'
import type { SimRow } from '../store/sim-row.ts'
import { unsyncedSims } from '../store/sim-store.ts'
import { all, called, errorOf, notNow, readKeys } from './batch.ts'
import type { Flights } from './flights.ts'
import { safeText } from './hss-link.ts'
import { withLaterSeq } from './lost.ts'
import { type Mark, writeMarks } from './marks.ts'
import { withSubscribers } from './subscriber.ts'

/** Subscribers in one call of a driver. */
const BATCH = 200
/** How often the store is asked for what waits; changes are told at once besides. */
const LIST_MS = 60_000
const BUSY_MS = 50
const GATHER_MS = 50

/** Pushes SIMs that may be on air: issued, imported, resumed, drifted. */
export function simReconciler(parts: SimsParts, flights: Flights): Reconciler {
  const { context, hss } = parts
  const failures = new Map<string, number>()
  return {
    resource: SIM_RESOURCE,
    resyncMs: LIST_MS,
    batch: BATCH,
    keys: async () => {
      const unsynced = await unsyncedSims(context.db, hss.view().driver)
      return unsynced.filter(({ state }) => wantedInHss(state) === 'open').map(({ hash }) => hash)
    },
    reconcile: async (keys, signal) => {
      const driver = hss.driver()
      const rest = notNow(parts, driver)
      if (driver === undefined || rest !== undefined) return all(keys, rest ?? { state: 'converged' })
      const { rows, outcomes } = await readKeys(context.db, keys)
      const open: SimRow[] = []
      for (const row of rows) {
        const outcome = ownOutcome(parts, flights, row, driver.name)
        if (outcome === undefined) open.push(row)
        else outcomes.set(row.hash, outcome)
      }
      const marks = await flights.during(open, () => push(parts, open, signal))
      await writeMarks(context.db, driver.name, context.clock.nowMs(), marks)
      for (const mark of marks) outcomes.set(mark.row.hash, outcomeOf(parts, mark, failures))
      if (marks.length > 0 && keys.length < BATCH) await gather(signal)
      return outcomes
    },
  }
}

/**
 * Holds the lane for a moment after a small push, so that what is issued one by one meanwhile goes in one call and one
 * commit. The SIM that came first has not waited.
 */
async function gather(signal: AbortSignal): Promise<void> {
  await wait(GATHER_MS, undefined, { signal }).catch(() => undefined)
}

/** The outcome of a row that is not to be pushed now; undefined when it is. */
function ownOutcome(parts: SimsParts, flights: Flights, row: SimRow, driver: string): Outcome | undefined {
  if (wantedInHss(row.state) !== 'open') {
    if (row.hss_status !== 'synced') parts.context.enqueue(CUT_RESOURCE, row.hash)
    return { state: 'converged' }
  }
  if (row.hss_status === 'synced' && row.hss_driver === driver) return { state: 'converged' }
  if (flights.has(row.hash)) return { state: 'pending', afterMs: BUSY_MS, reason: 'it is being cut off' }
  return undefined
}

/** Pushes rows in one call. */
async function push(
  parts: SimsParts,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly Mark[]> {
  const driver = parts.hss.driver()
  if (rows.length === 0 || driver === undefined) return []
  if (driver.name === 'none') return rows.map((row) => ({ row, error: undefined, status: 'synced' }))
  const ready = await withLaterSeq(parts, driver, rows, signal)
  if (ready === undefined) return rows.map(unanswered)
  return await withSubscribers(parts.vault, ready, async (subscribers) => {
    const result = await called(parts, signal, (bound) => driver.upsert(subscribers, bound))
    if (result === undefined) return ready.map(unanswered)
    return ready.map((row, i) => {
      const imsi = subscribers[i]?.imsi
      const error = imsi === undefined ? undefined : errorOf(result, imsi)
      return error === undefined
        ? { row, error: undefined, status: 'synced' }
        : { row, error: safeText(error), status: 'failed' }
    })
  })
}

/** The link says why, for all of them; nothing is written while the HSS is away. */
function unanswered(row: SimRow): Mark {
  return { row, error: row.hss_error ?? undefined, status: 'pending' }
}

const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 60_000

function outcomeOf(parts: SimsParts, mark: Mark, failures: Map<string, number>): Outcome {
  const { hash } = mark.row
  if (mark.status === 'synced') {
    failures.delete(hash)
    return { state: 'converged' }
  }
  const reason = mark.error ?? parts.hss.view().problem ?? 'the HSS did not take it'
  if (mark.status === 'pending') return { state: 'pending', afterMs: parts.hss.restMs(), reason }
  const count = (failures.get(hash) ?? 0) + 1
  failures.set(hash, count)
  return {
    state: 'pending',
    afterMs: Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(count - 1, 10)),
    reason,
  }
}
