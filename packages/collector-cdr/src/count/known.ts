/** What has been counted of one record. */
export interface KnownRecord {
  readonly number: number
  readonly opened: string
  /** When it last grew, ms since the epoch. */
  grewMs: number
  /** Octets counted by rating group. */
  readonly groups: Map<number, readonly [upBytes: number, downBytes: number]>
  /** What was counted of each of its fragments, in the order in which they were seen. */
  readonly fragments: Fragment[]
}

/** How far a fragment was counted: so many reports, whose bytes have this digest. */
export interface Fragment {
  reports: number
  digest: string
}

/** What tells a record from every other of its run. */
export function identityOf({ number, opened }: Pick<KnownRecord, 'number' | 'opened'>): string {
  return `${number} ${opened}`
}

/** What one run of a CHF has written of a subscriber, as far as it was read. */
export interface KnownRun {
  readonly writer: string
  /** By identity. */
  readonly records: Map<string, KnownRecord>
  /** Records that the last reading did not show: they may have grown before they went, and may come back. */
  hasHidden: boolean
}

/** All that is known of a subscriber: the runs of CHFs that have written its records, the latest last. */
export type Known = KnownRun[]

/** A known subscriber as a line of text without line breaks. */
export function lineFrom(known: Known): string {
  return JSON.stringify(
    known.map(({ writer, records, hasHidden }) => [
      writer,
      hasHidden ? 1 : 0,
      [...records.values()].map(({ number, opened, grewMs, groups, fragments }) => [
        number,
        opened,
        grewMs,
        [...groups].map(([group, [up, down]]) => [group, up, down]),
        fragments.map(({ reports, digest }) => [reports, digest]),
      ]),
    ]),
  )
}

type Line = readonly (readonly [
  writer: string,
  hasHidden: 0 | 1,
  records: readonly (readonly [
    number: number,
    opened: string,
    grewMs: number,
    groups: readonly (readonly [number, number, number])[],
    fragments: readonly (readonly [number, string])[],
  ])[],
])[]

/** What `lineFrom` has written; the line must be one of its own. */
export function knownFrom(line: string | undefined): Known {
  if (line === undefined) return []
  const runs = JSON.parse(line) as Line // written by lineFrom, kept by who counts
  return runs.map(([writer, hasHidden, records]) => ({
    writer,
    hasHidden: hasHidden === 1,
    records: new Map(records.map(recordFrom).map((record) => [identityOf(record), record])),
  }))
}

function recordFrom([number, opened, grewMs, groups, fragments]: Line[number][2][number]): KnownRecord {
  return {
    number,
    opened,
    grewMs,
    groups: new Map(groups.map(([group, up, down]) => [group, [up, down] as const])),
    fragments: fragments.map(([reports, digest]) => ({ reports, digest })),
  }
}
