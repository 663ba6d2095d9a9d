import type { ImsiHash } from '@steeple/contracts'
import { DamagedFile } from '../format/ber.ts'
import { recordsIn } from '../format/cdr-file.ts'
import { type ChargingRecord, isOldName, parseRecord } from '../format/charging-record.ts'
import { openedMsFrom } from '../format/opening-time.ts'
import { countRecord, type Growth, type Octets } from './growth.ts'
import { identityOf, type Known, type KnownRun } from './known.ts'

/** Runs that are remembered: those of CHFs that take turns in one directory, and a few that have ended. */
const MOST_RUNS = 4

/** The run that has written what a file holds now, and whether nothing of it was known. */
interface FoundRun {
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
function isForgotten(known: Known, { writer, openedMs }: ChargingRecord): boolean {
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

/**
 * What grew in the records of a CHF that writes each report into the record that its subscriber opened last (up to 1.2.2, release
 * 4.2.1), by APN. Every rating group is a session there: octets add up, and whose they are is told by the groups.
 */
function byApn(run: KnownRun, growths: readonly Growth[]): readonly Growth[] {
  const apns = apnsOfGroups(run)
  return growths.flatMap((growth) => {
    const sums = new Map<string | undefined, Octets>()
    for (const [group, [up, down]] of growth.groups) {
      const [upBytes, downBytes] = sums.get(apns.get(group)) ?? [0, 0]
      sums.set(apns.get(group), [upBytes + up, downBytes + down])
    }
    if (sums.size === 0) return [growth]
    return [...sums].map(([apn, [upBytes, downBytes]]) => ({ ...growth, apn, upBytes, downBytes }))
  })
}

/**
 * The APN of each rating group; undefined where it may be one of several.
 *
 * The PCF counts groups up from session to session, and the CHF its records: the sessions of groups come in the order of
 * these. A report stands in the record of its own session or of a later one.
 */
function apnsOfGroups({ records }: KnownRun): ReadonlyMap<number, string | undefined> {
  const sessions = [...records.values()].toSorted((a, b) => a.number - b.number)
  const groups = [...new Set(sessions.flatMap((one) => [...one.groups.keys()]))].toSorted((a, b) => a - b)
  const apns = new Map<number, string | undefined>()
  let behind = sessions.length
  for (const [earliest, group] of [...groups.entries()].reverse()) {
    const seenIn = sessions.findIndex((one) => one.groups.has(group))
    const latest = Math.min(seenIn, behind - 1)
    behind = latest
    const found = new Set(sessions.slice(earliest, latest + 1).map(({ apn }) => apn))
    apns.set(group, found.size === 1 ? [...found][0] : undefined)
  }
  return apns
}
