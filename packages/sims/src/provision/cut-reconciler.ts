import {
  type CoreDriver,
  coreDriverRef,
  type HssDriver,
  type Outcome,
  type Reconciler,
} from '@steeple/contracts'
import { CUT_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { openImsi } from '../secrets/sealing.ts'
import { wantedInHss } from '../states/machine.ts'
import type { SimRow } from '../store/sim-row.ts'
import { unsyncedSims } from '../store/sim-store.ts'
import { all, called, errorOf, notNow, readKeys } from './batch.ts'
import type { Detached } from './detach-board.ts'
import type { Flights } from './flights.ts'
import { safeText } from './hss-link.ts'
import { type Mark, writeMarks } from './marks.ts'
import { withSubscribers } from './subscriber.ts'

const BATCH = 50
const LIST_MS = 60_000
const BUSY_MS = 50
/** Kicks at a time: each is a request or two to the core. */
const KICKS = 8
const AGAIN_MS = 300
const RETRY_MS = 2_000
/** A core that did not take a kick is left alone so long. */
const CORE_RETRY_MS = 10_000
/** A blocked subscriber stays in the HSS so long before it is removed: a core's own cancel needs the document. */
const LINGER_MS = 1_500

/** One step of a cut: undefined when it worked, otherwise why not. */
type Steps = Map<string, string | undefined>

/**
 * Cuts off SIMs that may not be on air: blocks them in the HSS, then has the core let their sessions go and checks
 * that it did, then removes what is revoked or expired.
 */
export function cutReconciler(parts: SimsParts, flights: Flights): Reconciler {
  const { context, hss } = parts
  const lingering: Lingering = new Map()
  return {
    resource: CUT_RESOURCE,
    resyncMs: LIST_MS,
    batch: BATCH,
    keys: async () => {
      const unsynced = await unsyncedSims(context.db, hss.view().driver)
      return unsynced.filter(({ state }) => wantedInHss(state) !== 'open').map(({ hash }) => hash)
    },
    reconcile: async (keys, signal) => {
      const driver = hss.driver()
      const wait = notNow(parts, driver)
      if (driver === undefined || wait !== undefined) return all(keys, wait ?? { state: 'converged' })
      const { rows, outcomes } = await readKeys(context.db, keys)
      const mine: SimRow[] = []
      for (const row of rows) {
        const outcome = ownOutcome(parts, flights, row, driver.name)
        if (outcome === undefined) mine.push(row)
        else outcomes.set(row.hash, outcome)
      }
      const { marks, detached } = await flights.during(mine, () =>
        cut(parts, driver, mine, lingering, signal),
      )
      await writeMarks(context.db, driver.name, context.clock.nowMs(), marks)
      for (const mark of marks) {
        const how = detached.get(mark.row.hash)
        outcomes.set(mark.row.hash, outcomeOf(parts, mark, how))
        if (mark.status === 'synced') lingering.delete(mark.row.hash)
        tell(parts, mark, how)
      }
      return outcomes
    },
  }
}

/** Tells those who wait that the phone is off; its removal from the HSS may still be to come. */
function tell(parts: SimsParts, { row, status }: Mark, how: Kicked | undefined): void {
  if (status !== 'failed' && (how === 'yes' || how === 'not_attached')) parts.detaches.ended(row.hash, how)
}

function ownOutcome(parts: SimsParts, flights: Flights, row: SimRow, driver: string): Outcome | undefined {
  if (wantedInHss(row.state) === 'open') {
    if (row.hss_status !== 'synced') parts.context.enqueue(SIM_RESOURCE, row.hash)
    return { state: 'converged' }
  }
  if (row.hss_status === 'synced' && row.hss_driver === driver) return { state: 'converged' }
  if (flights.has(row.hash)) return { state: 'pending', afterMs: BUSY_MS, reason: 'it is being pushed' }
  return undefined
}

interface Cut {
  readonly marks: readonly Mark[]
  readonly detached: ReadonlyMap<string, Kicked>
}

async function cut(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  lingering: Lingering,
  signal: AbortSignal,
): Promise<Cut> {
  if (rows.length === 0) return { marks: [], detached: new Map() }
  const blocked = await block(parts, driver, rows, signal)
  if (blocked === undefined) return { marks: rows.map((row) => unanswered(row)), detached: new Map() }
  const detached = await kickAll(parts, rows, signal)
  const leaving = rows.filter(
    (row) => wantedInHss(row.state) === 'absent' && mayLeave(parts, driver, row, lingering),
  )
  const removed = await remove(parts, driver, leaving, signal)
  if (removed === undefined) return { marks: rows.map((row) => unanswered(row)), detached }
  const marks = rows.map((row): Mark => {
    const error = blocked.get(row.hash) ?? removed.get(row.hash)
    if (error !== undefined) return { row, error, status: 'failed' }
    const open = openStep(row, detached.get(row.hash), leaving)
    return { row, error: open, status: open === undefined ? 'synced' : 'pending' }
  })
  return { marks, detached }
}

/** When subscribers that are to be removed were blocked, by hash; ms of the monotonic clock. */
type Lingering = Map<string, number>

/** Whether a subscriber was blocked long enough ago, or never was in the HSS. */
function mayLeave(parts: SimsParts, driver: HssDriver, row: SimRow, lingering: Lingering): boolean {
  if (driver.name === 'none' || row.hss_synced_at_ms === null) return true
  const nowMs = parts.context.clock.monotonicMs()
  const sinceMs = lingering.get(row.hash) ?? nowMs
  lingering.set(row.hash, sinceMs)
  return nowMs - sinceMs >= LINGER_MS
}

/** What is still to be done, in words; undefined when nothing is. */
function openStep(row: SimRow, how: Kicked | undefined, leaving: readonly SimRow[]): string | undefined {
  if (how === 'pending') return 'the core has not let the session go yet'
  if (how === 'unknown') return 'the core did not say whether the session is gone'
  const isLeft = wantedInHss(row.state) === 'absent' && !leaving.includes(row)
  return isLeft ? 'blocked; about to be removed' : undefined
}

function unanswered(row: SimRow): Mark {
  return { row, error: row.hss_error ?? undefined, status: 'pending' }
}

/** Blocks what the HSS should hold or may hold. Undefined: the HSS did not answer. */
async function block(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<Steps | undefined> {
  if (driver.name === 'none') return new Map()
  const imsis = rows.map((row) => openImsi(parts.vault, row))
  const result = await called(parts, signal, (bound) => driver.setBlocked(imsis, true, bound))
  if (result === undefined) return undefined
  const steps: Steps = new Map()
  const absent: SimRow[] = []
  rows.forEach((row, i) => {
    const imsi = imsis[i]
    const error = imsi === undefined ? undefined : errorOf(result, imsi)
    // What must go may be gone; what must stay blocked has to be there.
    if (error !== undefined && wantedInHss(row.state) === 'blocked') absent.push(row)
  })
  if (absent.length === 0) return steps
  const inserted = await withSubscribers(parts.vault, absent, async (subscribers) => {
    const pushed = await called(parts, signal, (bound) => driver.upsert(subscribers, bound))
    return pushed === undefined ? undefined : subscribers.map(({ imsi }) => errorOf(pushed, imsi))
  })
  if (inserted === undefined) return undefined
  absent.forEach((row, i) => {
    const error = inserted[i]
    if (error !== undefined) steps.set(row.hash, safeText(error))
  })
  return steps
}

async function remove(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<Steps | undefined> {
  if (rows.length === 0 || driver.name === 'none') return new Map()
  const imsis = rows.map((row) => openImsi(parts.vault, row))
  const result = await called(parts, signal, (bound) => driver.remove(imsis, bound))
  if (result === undefined) return undefined
  const steps: Steps = new Map()
  rows.forEach((row, i) => {
    const imsi = imsis[i]
    const error = imsi === undefined ? undefined : errorOf(result, imsi)
    if (error !== undefined) steps.set(row.hash, safeText(error))
  })
  return steps
}

async function kickAll(
  parts: SimsParts,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Kicked>> {
  const core = parts.context.maybe(coreDriverRef)
  const detached = new Map<string, Kicked>()
  if (core === undefined) return new Map(rows.map(({ hash }) => [hash, 'not_attached']))
  const waiting = [...rows]
  const worker = async (): Promise<void> => {
    for (let row = waiting.pop(); row !== undefined; row = waiting.pop())
      detached.set(row.hash, await kick(parts, core, row, signal))
  }
  await Promise.all(Array.from({ length: Math.min(KICKS, rows.length) }, worker))
  return detached
}

/** `unknown`: the core did not answer. */
type Kicked = Detached | 'unknown'

async function kick(parts: SimsParts, core: CoreDriver, row: SimRow, signal: AbortSignal): Promise<Kicked> {
  try {
    return await core.kick(openImsi(parts.vault, row), signal)
  } catch (error) {
    signal.throwIfAborted()
    parts.context.log.debug({ reason: safeText(error) }, 'core did not take a kick')
    return 'unknown'
  }
}

function outcomeOf(parts: SimsParts, mark: Mark, how: Kicked | undefined): Outcome {
  if (mark.status === 'synced') return { state: 'converged' }
  const reason = mark.error ?? parts.hss.view().problem ?? 'the HSS did not take it'
  if (mark.status === 'failed') return { state: 'pending', afterMs: RETRY_MS, reason }
  const restMs = parts.hss.restMs()
  if (restMs > 0) return { state: 'pending', afterMs: restMs, reason }
  if (how !== 'unknown') return { state: 'pending', afterMs: AGAIN_MS, reason }
  // The first time the removal is still to come.
  const isKnown = mark.row.hss_error === mark.error
  return { state: 'pending', afterMs: isKnown ? CORE_RETRY_MS : RETRY_MS, reason }
}
