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
  const isOf = (run: KnownRun): boolean => run.writer === first.writer
  const holding = known.find((run) => isOf(run) && records.some((one) => run.records.has(identityOf(one))))
  const latest = known.findLast(isOf)
  const found = holding ?? (latest !== undefined && !hasRestarted(latest, records) ? latest : undefined)
  const run = found ?? { writer: first.writer, records: new Map(), hasHidden: false }
  const at = known.indexOf(run)
  if (at >= 0) known.splice(at, 1)
  known.push(run)
  if (known.length > MOST_RUNS) known.shift()
  return { run, isNew: found === undefined }
}

/** Whether records cannot be of a run: numbers and opening times go up together in one. */
function hasRestarted(run: KnownRun, records: readonly ChargingRecord[]): boolean {
  return [...run.records.values()].some((before) => {
    const beforeMs = openedMsFrom(Buffer.from(before.opened, 'base64url'))
    if (beforeMs === undefined) return false
    return records.some(
      ({ number, openedMs }) => openedMs !== undefined && openedMs > beforeMs && number <= before.number,
    )
  })
}
