import { hash } from 'node:crypto'
import type { ChargingRecord } from '../format/charging-record.ts'
import { type Fragment, identityOf, type KnownRecord, type KnownRun } from './known.ts'

/** What a record has grown by since it was counted last. */
export interface Growth {
  readonly apn: string | undefined
  readonly upBytes: number
  readonly downBytes: number
  /** When it had grown last before; when it was opened where it is new; undefined where that is not known. */
  readonly sinceMs: number | undefined
  /** Reports have come and gone between two readings. They may be back at a later one. */
  readonly isIncomplete: boolean
}

/**
 * Counts the fragments of one record that a file shows, in the order in which it does, and remembers how far.
 *
 * A record only grows at its end, so what is known of a fragment is what it begins with. A file shows all
 * fragments of a record or, when the session has ended, only its last one: bytes of the others may be known or not, and all
 * may be back when another session of the subscriber is written.
 */
export function countRecord(
  run: KnownRun,
  shown: readonly ChargingRecord[],
  atMs: number,
): Growth | undefined {
  const [first] = shown
  if (first === undefined) return undefined
  const before = run.records.get(identityOf(first))
  const known = before ?? newRecord(first)
  const assigned = assign(known.fragments, shown)
  const [upBefore, downBefore] = most(known)
  for (const [index, record] of shown.entries()) {
    const fragment = assigned[index]
    for (const { ratingGroup, upBytes, downBytes } of record.used.slice(fragment?.reports ?? 0)) {
      const [up, down] = known.groups.get(ratingGroup) ?? [0, 0]
      known.groups.set(ratingGroup, [up + upBytes, down + downBytes])
    }
  }
  // Reports came and went unseen when the last fragment is another one than was known, and stands alone.
  const isIncomplete = before !== undefined && shown.length === 1 && assigned[0] === undefined
  const hasGrown = remember(known, shown, assigned)
  if (before === undefined && hasGrown) run.records.set(identityOf(known), known)
  const [up, down] = most(known)
  const sinceMs = before?.grewMs ?? first.openedMs
  if (hasGrown) known.grewMs = atMs
  if (!hasGrown && !isIncomplete) return undefined
  return { apn: first.apn, upBytes: up - upBefore, downBytes: down - downBefore, sinceMs, isIncomplete }
}

function newRecord({ number, opened }: ChargingRecord): KnownRecord {
  return { number, opened, grewMs: 0, groups: new Map(), fragments: [] }
}

/**
 * The octets of a record: those of the rating group that has most of them. The group of a slice counts all that its session
 * moves, and those of single flows the same octets again.
 */
function most({ groups }: KnownRecord): readonly [number, number] {
  let [up, down] = [0, 0]
  for (const [upBytes, downBytes] of groups.values()) {
    up = Math.max(up, upBytes)
    down = Math.max(down, downBytes)
  }
  return [up, down]
}

/** For each fragment that is shown what is known of it; undefined for one that is new. */
function assign(
  known: readonly Fragment[],
  shown: readonly ChargingRecord[],
): readonly (Fragment | undefined)[] {
  const [only] = shown
  if (shown.length === 1 && only !== undefined) {
    const last = known.at(-1)
    return [last !== undefined && beginsWith(only, last) ? last : undefined]
  }
  // All are shown, and those that are known among them in the same order.
  let next = 0
  return shown.map((record) => {
    const candidate = known[next]
    if (candidate === undefined || !beginsWith(record, candidate)) return undefined
    next += 1
    return candidate
  })
}

function beginsWith(record: ChargingRecord, { reports, digest }: Fragment): boolean {
  return record.used.length >= reports && digestOf(record, reports) === digest
}

/** 48 bits: fragments of one record are told apart by it, a handful. */
function digestOf({ reports, used }: ChargingRecord, count: number): string {
  const end = count === 0 ? 0 : (used[count - 1]?.end ?? 0)
  return hash('sha256', reports.subarray(0, end), 'base64url').slice(0, 8)
}

/** Whether anything was new. */
function remember(
  known: KnownRecord,
  shown: readonly ChargingRecord[],
  assigned: readonly (Fragment | undefined)[],
): boolean {
  let hasGrown = false
  const list: Fragment[] = []
  for (const [index, record] of shown.entries()) {
    const fragment = assigned[index]
    const { length } = record.used
    if (length === (fragment?.reports ?? 0)) {
      if (fragment !== undefined) list.push(fragment)
      continue
    }
    hasGrown = true
    list.push({ reports: length, digest: digestOf(record, length) })
  }
  // What a lone last fragment does not show stays known before it.
  const hidden = known.fragments.filter((fragment) => !assigned.includes(fragment))
  known.fragments.splice(0, Infinity, ...hidden, ...list)
  return hasGrown
}
