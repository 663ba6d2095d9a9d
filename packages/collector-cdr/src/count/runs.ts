import type { ChargingRecord } from '../format/charging-record.ts'
import { openedMsFrom } from '../format/opening-time.ts'
import { identityOf, type Known, type KnownRun } from './known.ts'

/** Runs that are remembered: those of CHFs that take turns in one directory, and a few that have ended. */
const MOST_RUNS = 4

/** The run that has written what a file holds now, and whether nothing of it was known. */
export interface FoundRun {
  readonly run: KnownRun
  readonly isNew: boolean
}

/**
 * Finds the run that wrote these records, or begins it. It is the latest of `known` afterwards.
 *
 * A file is written by one run. Another instance of the CHF has another id; one whose id is fixed begins its numbers
 * anew, so that a record with a smaller number and a later opening shows that it has started again.
 */
export function runOf(known: Known, records: readonly ChargingRecord[]): FoundRun | undefined {
  const [first] = records
  if (first === undefined) return undefined
  const isOf = (run: KnownRun): boolean => run.writer === first.writer && run.countedMs === undefined
  const holding = known.find((run) => isOf(run) && records.some((one) => run.records.has(identityOf(one))))
  const latest = known.findLast(isOf)
  const found = holding ?? (latest !== undefined && !hasRestarted(latest, records) ? latest : undefined)
  const run = found ?? { writer: first.writer, records: new Map(), hasHidden: false }
  const at = known.indexOf(run)
  if (at >= 0) known.splice(at, 1)
  known.push(run)
  forget(known)
  return { run, isNew: found === undefined }
}

/** Of so many runs longer ago it is remembered up to when they were counted: a copy of their files may come back. */
const MOST_FORGOTTEN = 8

/** Keeps of runs of long ago nothing but that they were counted. */
function forget(known: Known): void {
  const whole = known.filter(({ countedMs }) => countedMs === undefined)
  const [oldest] = whole
  if (oldest === undefined || whole.length <= MOST_RUNS) return
  const openings = [...oldest.records.values()].map(({ opened }) => openedMsOf(opened) ?? 0)
  const { writer } = oldest
  const counted = { writer, records: new Map(), hasHidden: false, countedMs: Math.max(0, ...openings) }
  known.splice(known.indexOf(oldest), 1)
  known.unshift(counted)
  if (known.length > MOST_RUNS + MOST_FORGOTTEN) known.splice(MOST_FORGOTTEN, 1)
}

/** Whether a record is of a run that was counted and of which nothing else is kept. */
export function isForgotten(known: Known, { writer, openedMs }: ChargingRecord): boolean {
  return known.some(
    (run) =>
      run.writer === writer &&
      run.countedMs !== undefined &&
      openedMs !== undefined &&
      openedMs <= run.countedMs,
  )
}

function openedMsOf(opened: string): number | undefined {
  return openedMsFrom(Buffer.from(opened, 'base64url'))
}

/** Whether records cannot be of a run: numbers and opening times go up together in one. */
function hasRestarted(run: KnownRun, records: readonly ChargingRecord[]): boolean {
  return [...run.records.values()].some((before) => {
    const beforeMs = openedMsOf(before.opened)
    if (beforeMs === undefined) return false
    return records.some(
      ({ number, openedMs }) => openedMs !== undefined && openedMs > beforeMs && number <= before.number,
    )
  })
}
