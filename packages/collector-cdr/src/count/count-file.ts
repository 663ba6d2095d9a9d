import type { ImsiHash } from '@steeple/contracts'
import { DamagedFile } from '../format/ber.ts'
import { recordsIn } from '../format/cdr-file.ts'
import { type ChargingRecord, isOldName, parseRecord } from '../format/charging-record.ts'
import { countRecord, type Growth } from './growth.ts'
import { identityOf, type Known, type KnownRun } from './known.ts'
import { isForgotten, runOf } from './runs.ts'
import { byApn } from './sharing.ts'

/** The records of a file, all of one subscriber. */
export interface FileContent {
  /** Undefined when it holds no record of an IMSI. */
  readonly imsi: ImsiHash | undefined
  readonly records: readonly ChargingRecord[]
  /** Reports of all sessions of the subscriber stand in the record that was opened last. */
  readonly isShared: boolean
}

/** Octets parsed in one turn of the event loop. */
const TURN_BYTES = 32 * 1024

/** Parses the file `name`; undefined when its content is none of a CHF. Gives way to others now and then. */
export async function contentOf(bytes: Buffer, name: string): Promise<FileContent | undefined> {
  const records: ChargingRecord[] = []
  const turn = turns()
  try {
    for (const body of recordsIn(bytes)) {
      const record = parseRecord(body, name)
      if (record !== undefined) records.push(record)
      await turn(body.length)
    }
  } catch (error) {
    if (error instanceof DamagedFile) return undefined
    throw error
  }
  return { imsi: records[0]?.imsi, records, isShared: isOldName(name) }
}

/** What a reading of a file adds. */
export interface FileGrowth {
  readonly growths: readonly Growth[]
  /** Octets may have come and gone unseen before this reading, and are not in it. */
  readonly isIncomplete: boolean
  readonly isChanged: boolean
}

/**
 * Counts what the records of a subscriber have grown by and remembers it in `known`.
 *
 * `isSureOf` says whether the run of a CHF was there when the directory was looked at before: then nothing of the run before it
 * can have come and gone in between.
 */
export async function countFile(
  known: Known,
  { records: all, isShared }: Pick<FileContent, 'records' | 'isShared'>,
  atMs: number,
  isSureOf: (run: KnownRun, openedMs: number | undefined) => boolean,
): Promise<FileGrowth> {
  const before = known.at(-1)
  const records = all.filter((record) => !isForgotten(known, record))
  const found = runOf(known, records)
  // Whether records of a run so long ago are as they were then nobody can tell.
  if (found === undefined) return { growths: [], isIncomplete: all.length > 0, isChanged: false }
  const { run, isNew } = found
  const growths: Growth[] = []
  const countBefore = run.records.size
  const shown = Map.groupBy(records, identityOf)
  const turn = turns()
  for (const fragments of shown.values()) {
    const growth = countRecord(run, fragments, atMs, isShared)
    if (growth !== undefined) growths.push(growth)
    for (const { reports } of fragments) await turn(reports.length)
  }
  const wasHidden = run.hasHidden
  run.hasHidden = [...run.records.keys()].some((identity) => !shown.has(identity))
  const openedMs = records.map((one) => one.openedMs).find((ms) => ms !== undefined)
  const isIncomplete = isNew && before !== undefined && (before.hasHidden || !isSureOf(run, openedMs))
  const isChanged =
    isNew ||
    growths.length > 0 ||
    run !== before ||
    wasHidden !== run.hasHidden ||
    run.records.size !== countBefore
  return { growths: isShared ? byApn(run, growths) : growths, isIncomplete, isChanged }
}

/** Gives way to others after so many octets. */
function turns(): (bytes: number) => Promise<void> {
  let sum = 0
  return async (bytes) => {
    sum += bytes
    if (sum < TURN_BYTES) return
    sum = 0
    await new Promise(setImmediate)
  }
}
