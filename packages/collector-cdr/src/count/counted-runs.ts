/** What has been counted of one record. */
export interface KnownRecord {
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
export interface Fragment {
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
export type CountedRuns = CountedRun[]

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
