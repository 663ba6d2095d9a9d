import {
  createPause,
  type HssDriver,
  isServiceError,
  type Outcome,
  type Reader,
  type Reconciler,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import { RATES_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { wantedInHss } from '../states/change.ts'
import { seenTimes } from '../store/attach-store.ts'
import { SIMS, type SimRow, unreachedHashes, unsyncedSims } from '../store/sim-store.ts'
import { CUTS_AT_ONCE, createCutter, type Kicked, NEXT_CUTS } from './cut.ts'
import { type Mark, unanswered, upsertRows, writeMarks } from './push.ts'

/** Subscribers in one call of a driver. */
const BATCH = 200
/** What is issued one by one goes together in so many calls and commits at most; the SIM that came first has not waited. */
const CALLS_PER_S = 20
/** How often the store is asked for what waits; changes are told at once besides. */
const LIST_MS = 60_000
/** A subscriber that fails for itself. */
const BACKOFF = { firstMs: 1_000, longestMs: 60_000 }

/**
 * Pushes SIMs that may be on air (issued, imported, resumed, drifted) and cuts off those that may not. What is to be cut
 * off is asked for as urgent, and has a call of its own: it never waits behind a large import.
 */
export function simReconciler(parts: SimsParts): Reconciler {
  const { context, hss } = parts
  const cutter = createCutter(parts)
  return {
    resource: SIM_RESOURCE,
    resyncMs: LIST_MS,
    batch: BATCH,
    urgentConcurrency: 1,
    callsPerS: CALLS_PER_S,
    backoff: BACKOFF,
    restMs: hss.restMs,
    keys: async () => {
      const unsynced = await unsyncedSims(context.db, hss.view().driver)
      // Those to be cut off go first here, too.
      return unsynced.toSorted((a, b) => Number(isOpen(a)) - Number(isOpen(b))).map(({ hash }) => hash)
    },
    reconcile: async (keys, signal) => {
      const driver = hss.driver()
      if (driver === undefined) return hss.later()
      const isDone = (row: SimRow): boolean =>
        row.hss_status === 'synced' && (driver.name === 'none' || row.hss_driver === driver.name)
      const isCut = (row: SimRow): boolean => !isOpen(row) && !isDone(row)
      const { rows, outcomes, unread } = await readKeys(context.db, keys, { rows: CUTS_AT_ONCE, of: isCut })
      for (const hash of unread) outcomes.set(hash, NEXT_CUTS)
      for (const row of rows.filter(isDone)) {
        outcomes.set(row.hash, { state: 'converged' })
        if (!isOpen(row)) cutter.settled(row.hash)
      }
      const due = rows.filter((row) => !isDone(row))
      const done = await Promise.all([
        pushAndMark(parts, driver, due.filter(isOpen), signal),
        cutter.cut(driver, due.filter(isCut), signal),
      ])
      return new Map([...outcomes, ...done.flatMap((each) => [...each])])
    },
  }
}

function isOpen({ state }: Pick<SimRow, 'state'>): boolean {
  return wantedInHss(state) === 'open'
}

async function pushAndMark(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Outcome>> {
  if (rows.length === 0) return new Map()
  const marks = await push(parts, driver, rows, signal)
  await writeMarks(parts.context, driver.name, parts.context.clock.nowMs(), marks)
  for (const { row, status } of marks) parts.pushes.ended(row.hash, status === 'synced')
  return new Map(marks.map((mark) => [mark.row.hash, outcomeOf(parts, mark)]))
}

/** Pushes rows in one call. */
async function push(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly Mark[]> {
  if (driver.name === 'none') return rows.map((row) => ({ row, error: undefined, status: 'synced' }))
  const errors = await upsertRows(parts, driver, rows, signal)
  if (errors === undefined) return rows.map(unanswered)
  return rows.map((row, i) => {
    const error = errors[i]
    return error === undefined
      ? { row, error: undefined, status: 'synced' }
      : { row, error: safeText(error), status: 'failed' }
  })
}

/** What is left of the keys of a call once they are read. */
interface ReadKeys {
  readonly rows: readonly SimRow[]
  /** Outcomes of the keys without a row that could be used. */
  readonly outcomes: Map<string, Outcome>
  /** Keys behind the last row that was taken. */
  readonly unread: readonly string[]
}

/**
 * Reads the rows of keys, in their order, until it has `enough`. A row that fails its checksum waits until somebody has
 * mended it.
 */
async function readKeys(
  reader: Reader,
  keys: readonly string[],
  enough?: { readonly rows: number; readonly of: (row: SimRow) => boolean },
): Promise<ReadKeys> {
  const rows: SimRow[] = []
  const outcomes = new Map<string, Outcome>()
  const pause = createPause()
  let counted = 0
  for (const [i, hash] of keys.entries()) {
    if (enough !== undefined && counted >= enough.rows) return { rows, outcomes, unread: keys.slice(i) }
    await pause()
    try {
      const row = await SIMS.find(reader, { hash })
      if (row === undefined) outcomes.set(hash, { state: 'converged' })
      else {
        rows.push(row)
        if (enough?.of(row) === true) counted += 1
      }
    } catch (error) {
      if (!isServiceError(error) || error.code !== 'store_corrupt') throw error
      outcomes.set(hash, { state: 'terminal', reason: 'the stored row fails its checksum' })
    }
  }
  return { rows, outcomes, unread: [] }
}

function outcomeOf({ hss }: SimsParts, { status, error }: Mark): Outcome {
  if (status === 'synced') return { state: 'converged' }
  if (status === 'pending') return hss.later(error)
  return { state: 'failed', reason: error ?? hss.later().reason }
}

/** SIMs of one call: their kicks take turns. */
const RATES_BATCH = 50
/** The HSS is told by another reconciler. */
const HSS_MS = 500
const KICK_MS = 1_000
/** A core that takes no kicks, and a phone whose session is waited for, are looked at so often. */
const REST_MS = 10_000

const UNTOLD: Outcome = { state: 'pending', afterMs: HSS_MS, reason: 'the HSS is yet to be told the rates' }
const RUNS: Outcome = runsOn(REST_MS)

/**
 * Has phones take the rates that their SIMs have got: ends their sessions or waits for that, once the HSS holds the rates.
 * Cores give a session its rates when it begins.
 */
export function ratesReconciler(parts: SimsParts): Reconciler {
  const { context } = parts
  return {
    resource: RATES_RESOURCE,
    resyncMs: LIST_MS,
    batch: RATES_BATCH,
    keys: () => unreachedHashes(context.db),
    reconcile: async (keys, signal) => {
      const { rows, outcomes } = await readKeys(context.db, keys)
      const open = rows.filter(({ reach }) => reach !== null)
      const told = open.filter(({ hss_status }) => hss_status === 'synced')
      for (const row of open) outcomes.set(row.hash, told.includes(row) ? RUNS : UNTOLD)
      const kicked = await parts.core.kick(told.filter(isToBeKicked), signal)
      for (const [hash, how] of kicked) outcomes.set(hash, ratesOutcome(how))
      const ended = [...told.filter((row) => isGone(kicked.get(row.hash))), ...(await restarted(parts, told))]
      await markReached(parts, ended)
      for (const { hash } of ended) outcomes.set(hash, { state: 'converged' })
      return outcomes
    },
  }
}

function isToBeKicked({ reach, state }: SimRow): boolean {
  return reach === 'kick' && wantedInHss(state) === 'open'
}

function isGone(how: Kicked | undefined): boolean {
  return how === 'yes' || how === 'not_attached'
}

function ratesOutcome(how: Kicked): Outcome {
  return how === 'unknown' ? RUNS : runsOn(KICK_MS)
}

function runsOn(afterMs: number): Outcome {
  return {
    state: 'pending',
    afterMs,
    reason: 'the phone may have the rates of before until its session ends',
  }
}

/** Those whose session has ended by itself since the HSS was told, or that may have none. */
async function restarted(
  { context, attachedSet }: SimsParts,
  rows: readonly SimRow[],
): Promise<readonly SimRow[]> {
  const attached = attachedSet.now()
  const present: ReadonlySet<string> | undefined = attached?.hashes
  const times = await seenTimes(
    context.db,
    rows.map(({ hash }) => hash),
  )
  return rows.filter((row) => {
    const sinceMs = row.hss_synced_at_ms ?? Number.POSITIVE_INFINITY
    const isAbsent = present?.has(row.hash) === false && (attached?.atMs ?? 0) > sinceMs
    // It is written down when a phone comes and when it goes.
    return wantedInHss(row.state) !== 'open' || isAbsent || (times.get(row.hash) ?? 0) > sinceMs
  })
}

async function markReached({ context }: SimsParts, rows: readonly SimRow[]): Promise<void> {
  if (rows.length === 0) return
  await context.db.write(async (tx) => {
    for (const { hash, generation } of rows) {
      const now = await SIMS.find(tx, { hash })
      if (now !== undefined && now.generation === generation) await SIMS.put(tx, { ...now, reach: null })
    }
  })
}
