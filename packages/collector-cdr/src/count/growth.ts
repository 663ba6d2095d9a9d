import { hash } from 'node:crypto'
import type { ChargingRecord } from '../format/charging-record.ts'
import { type Fragment, identityOf, type KnownRecord, type KnownRun } from './known.ts'

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
export type Octets = readonly [upBytes: number, downBytes: number]

/** What a record has grown by since it was counted last. */
export interface Growth {
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
  run: KnownRun,
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
