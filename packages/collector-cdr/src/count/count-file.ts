import { hash } from 'node:crypto'
import type { ImsiHash } from '@steeple/contracts'
import { DamagedFile, recordsIn } from '../format/cdr-file.ts'
import { type ChargingRecord, isOldName, openedMsFrom, parseRecord } from '../format/charging-record.ts'

/** What has been counted of one record. */
interface KnownRecord {
  readonly number: number
  readonly opened: string
  /** Of its session; kept where reports of other sessions may stand in it. */
  readonly apn: string | undefined
  /** When it last grew, ms since the epoch. */
  grewMs: number
  /** Octets counted by rating group. */
  readonly groups: Map<number, readonly [upBytes: number, downBytes: number]>
  /** What was counted of each of its fragments, in the order in which they were seen. */
  readonly fragments: Fragment[]
}

/**
 * How far a fragment was counted: so many reports, whose bytes have this digest. `marks` are those of its first 1, 2, 4, 8, …
 * reports, by which an older copy of it is known.
 */
interface Fragment {
  readonly reports: number
  readonly digest: string
  readonly marks: readonly string[]
}

/** What tells a record from every other of its run. */
export function identityOf({ number, opened }: Pick<KnownRecord, 'number' | 'opened'>): string {
  return `${number} ${opened}`
}

/** What one run of a CHF has written of a subscriber, as far as it was read. */
export interface CountedRun {
  readonly writer: string
  /** By identity. */
  readonly records: Map<string, KnownRecord>
  /** Records that the last reading did not show: they may have grown before they went, and may come back. */
  hasHidden: boolean
  /** It was so long ago that nothing else is kept of it: up to which opening its records were counted, ms since the epoch. */
  readonly countedMs?: number
}

/** All that is known of a subscriber: the runs of CHFs that have written its records, the latest last. */
type CountedRuns = CountedRun[]

/** A known subscriber as a line of text without line breaks. */
export function lineFrom(known: CountedRuns): string {
  return JSON.stringify(
    known.map(({ writer, records, hasHidden, countedMs }) =>
      countedMs === undefined
        ? [writer, hasHidden ? 1 : 0, [...records.values()].map(partsOf)]
        : [writer, 0, [], countedMs],
    ),
  )
}

function partsOf({ number, opened, apn, grewMs, groups, fragments }: KnownRecord): RecordParts {
  const counted = [...groups].map(([group, [up, down]]) => [group, up, down] as const)
  const seen = fragments.map(({ reports, digest, marks }) => [reports, digest, ...marks] as const)
  return apn === undefined
    ? [number, opened, grewMs, counted, seen]
    : [number, opened, grewMs, counted, seen, apn]
}

type RecordParts = readonly [
  number: number,
  opened: string,
  grewMs: number,
  groups: readonly (readonly [number, number, number])[],
  fragments: readonly (readonly [reports: number, digest: string, ...marks: readonly string[]])[],
  apn?: string,
]

type Line = readonly (readonly [
  writer: string,
  hasHidden: 0 | 1,
  records: readonly RecordParts[],
  countedMs?: number,
])[]

/** What `lineFrom` has written; the line must be one of its own. */
export function knownFrom(line: string | undefined): CountedRuns {
  if (line === undefined) return []
  const runs = JSON.parse(line) as Line // written by lineFrom, kept by who counts
  return runs.map(([writer, hasHidden, records, countedMs]) => ({
    writer,
    hasHidden: hasHidden === 1,
    ...(countedMs === undefined ? {} : { countedMs }),
    records: new Map(records.map(recordFrom).map((record) => [identityOf(record), record])),
  }))
}

function recordFrom([number, opened, grewMs, groups, fragments, apn]: RecordParts): KnownRecord {
  return {
    number,
    opened,
    apn,
    grewMs,
    groups: new Map(groups.map(([group, up, down]) => [group, [up, down] as const])),
    fragments: fragments.map(([reports, digest, ...marks]) => ({ reports, digest, marks })),
  }
}

/** 24 bits: a mark is compared with those of copies of one record. */
const MARK_CHARACTERS = 4

/** How far a fragment is known once all that is shown of it is counted. */
function fragmentOf(record: ChargingRecord): Fragment {
  const reports = record.used.length
  const marks: string[] = []
  for (let count = 1; count < reports; count *= 2)
    marks.push(digestOf(record, count).slice(0, MARK_CHARACTERS))
  return { reports, digest: digestOf(record, reports), marks }
}

/**
 * For each fragment that is shown what is known of it; undefined for one that is new. Of several that it may be it is the one with
 * which it agrees over most reports; of those with as many, the next in order, or the last where it stands alone.
 */
function assignedTo(
  known: readonly Fragment[],
  shown: readonly ChargingRecord[],
): readonly (Fragment | undefined)[] {
  const free = [...known]
  const digests = new Map<string, string>()
  return shown.map((record, index) => {
    const digest = (count: number): string => {
      const key = `${index} ${count}`
      const made = digests.get(key) ?? digestOf(record, count)
      digests.set(key, made)
      return made
    }
    let [best, most] = [-1, -1]
    for (const [at, fragment] of free.entries()) {
      const common = agreement(record, fragment, digest)
      if (common > most || (common === most && common >= 0 && shown.length === 1)) [best, most] = [at, common]
    }
    return best < 0 ? undefined : free.splice(best, 1)[0]
  })
}

/** Over how many reports what is shown is seen to be what is known; -1 when it is not. */
function agreement(
  { used }: ChargingRecord,
  { reports, digest, marks }: Fragment,
  digestAt: (count: number) => string,
): number {
  if (used.length >= reports) return digestAt(reports) === digest ? reports : -1
  // An older copy. What an earlier release has kept has no marks: there it is taken for one.
  if (used.length === 0 || marks.length === 0) return 0
  const at = Math.min(Math.floor(Math.log2(used.length)), marks.length - 1)
  return digestAt(2 ** at).slice(0, MARK_CHARACTERS) === marks[at] ? 2 ** at : -1
}

/** 48 bits: fragments of one record are told apart by it, a handful. */
function digestOf({ reports, used }: ChargingRecord, count: number): string {
  const end = count === 0 ? 0 : (used[count - 1]?.end ?? 0)
  return hash('sha256', reports.subarray(0, end), 'base64url').slice(0, 8)
}

/** Octets, up and down. */
type Octets = readonly [upBytes: number, downBytes: number]

/** What a record has grown by since it was counted last. */
interface Growth {
  readonly apn: string | undefined
  readonly upBytes: number
  readonly downBytes: number
  /** By rating group. */
  readonly groups: ReadonlyMap<number, Octets>
  /** When it had grown last before; when it was opened where it is new; undefined where that is not known. */
  readonly sinceMs: number | undefined
  /** Reports have come and gone between two readings. They may be back at a later one. */
  readonly isIncomplete: boolean
}

/**
 * Counts the fragments of one record that a file shows, in the order in which it does, and remembers how far. Nothing is
 * counted of what was, whether the file is the newest or a copy of an older one.
 *
 * A record only grows at its end, so what is known of a fragment is what it begins with, or it begins with what is shown. A file
 * shows all fragments of a record or, when the session has ended, only its last one: bytes of the others may be known or
 * not, and all may be back when another session of the subscriber is written.
 */
export function countRecord(
  run: CountedRun,
  shown: readonly ChargingRecord[],
  atMs: number,
  isShared: boolean,
): Growth | undefined {
  const [first] = shown
  if (first === undefined) return undefined
  const before = run.records.get(identityOf(first))
  const known = before ?? newRecord(first, isShared)
  const assigned = assignedTo(known.fragments, shown)
  const [upBefore, downBefore] = most(known)
  const groups = new Map<number, Octets>()
  for (const [index, record] of shown.entries())
    for (const report of record.used.slice(assigned[index]?.reports ?? 0)) {
      add(known.groups, report)
      add(groups, report)
    }
  // Reports came and went unseen when the last fragment is another one than was known, and stands alone.
  const isAnother = known.fragments.length > 0 && first.used.length > 0 && assigned[0] === undefined
  const isIncomplete = isAnother && shown.length === 1
  const hasGrown = remember(known, shown, assigned)
  if (before === undefined && (hasGrown || isShared)) run.records.set(identityOf(known), known)
  const [up, down] = most(known)
  const sinceMs = before?.grewMs ?? first.openedMs
  if (hasGrown) known.grewMs = atMs
  if (!hasGrown && !isIncomplete) return undefined
  return {
    apn: first.apn,
    upBytes: up - upBefore,
    downBytes: down - downBefore,
    groups,
    sinceMs,
    isIncomplete,
  }
}

function newRecord({ number, opened, apn }: ChargingRecord, isShared: boolean): KnownRecord {
  const own = isShared ? apn : undefined
  return { number, opened, apn: own, grewMs: 0, groups: new Map(), fragments: [] }
}

function add(sums: Map<number, Octets>, report: ChargingRecord['used'][number]): void {
  const [up, down] = sums.get(report.ratingGroup) ?? [0, 0]
  sums.set(report.ratingGroup, [up + report.upBytes, down + report.downBytes])
}

/**
 * The octets of a record: those of the rating group that has most of them. The group of a slice counts all that its session
 * moves, and those of single flows the same octets again.
 */
function most({ groups }: KnownRecord): Octets {
  let [up, down] = [0, 0]
  for (const [upBytes, downBytes] of groups.values()) {
    up = Math.max(up, upBytes)
    down = Math.max(down, downBytes)
  }
  return [up, down]
}

/** Whether anything was new. What is not shown stays known, and what is shown as it was before, too. */
function remember(
  known: KnownRecord,
  shown: readonly ChargingRecord[],
  assigned: ReturnType<typeof assignedTo>,
): boolean {
  let hasGrown = false
  for (const [index, record] of shown.entries()) {
    const fragment = assigned[index]
    if (record.used.length <= (fragment?.reports ?? 0)) continue
    hasGrown = true
    const at = fragment === undefined ? known.fragments.length : known.fragments.indexOf(fragment)
    known.fragments[at] = fragmentOf(record)
  }
  return hasGrown
}

/** Runs that are remembered: those of CHFs that take turns in one directory, and a few that have ended. */
const MOST_RUNS = 4

/** The run that has written what a file holds now, and whether nothing of it was known. */
interface FoundRun {
  readonly run: CountedRun
  readonly isNew: boolean
}

/**
 * Finds the run that wrote these records, or begins it. It is the latest of `known` afterwards.
 *
 * A file is written by one run. Another instance of the CHF has another id; one whose id is fixed begins its numbers
 * anew, so that a record with a smaller number and a later opening shows that it has started again.
 */
export function runOf(known: CountedRuns, records: readonly ChargingRecord[]): FoundRun | undefined {
  const [first] = records
  if (first === undefined) return undefined
  const isOf = (run: CountedRun): boolean => run.writer === first.writer && run.countedMs === undefined
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
function forget(known: CountedRuns): void {
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
function isForgotten(known: CountedRuns, { writer, openedMs }: ChargingRecord): boolean {
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
function hasRestarted(run: CountedRun, records: readonly ChargingRecord[]): boolean {
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
  known: CountedRuns,
  { records: all, isShared }: Pick<FileContent, 'records' | 'isShared'>,
  atMs: number,
  isSureOf: (run: CountedRun, openedMs: number | undefined) => boolean,
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
function byApn(run: CountedRun, growths: readonly Growth[]): readonly Growth[] {
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
function apnsOfGroups({ records }: CountedRun): ReadonlyMap<number, string | undefined> {
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
