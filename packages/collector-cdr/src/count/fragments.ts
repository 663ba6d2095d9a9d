import { hash } from 'node:crypto'
import type { ChargingRecord } from '../format/charging-record.ts'
import type { Fragment } from './known.ts'

/** 24 bits: a mark is compared with those of copies of one record. */
const MARK_CHARACTERS = 4

/** How far a fragment is known once all that is shown of it is counted. */
export function fragmentOf(record: ChargingRecord): Fragment {
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
export function assignedTo(
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
