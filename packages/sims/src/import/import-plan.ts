import { type ImsiHash, type Pause, validationFailed } from '@steeple/contracts'
import type { LineSpan } from '@steeple/telecom'
import { imsiHash, parseImsi } from '@steeple/telecom'
import { iccidText } from './import-row.ts'
import { MAX_ROWS } from './import-schema.ts'
import type { Rows } from './read-rows.ts'

/** A row of a body that was looked at, not checked. */
export interface PlannedRow {
  /** From 1; the header is not counted. */
  readonly number: number
  readonly place: LineSpan
  readonly hash: ImsiHash | undefined
}

/** A whole body, looked at before a part of it is imported. */
export interface ImportPlan {
  readonly count: number
  /** In the order in which they are best worked off. */
  readonly rows: readonly PlannedRow[]
  /** Whether two rows may have the same IMSI or the same ICCID: only then has any to be remembered to the end of the import. */
  readonly mayHaveTwins: boolean
}

/** Digits at the end of an ICCID that a number holds exactly. A number takes half the memory of such a text. */
const ICCID_END_DIGITS = 15

/** A spreadsheet whose cells were cleared keeps its rows: each has to be read before it is known to be one. */
const MAX_EMPTY_ROWS = 500_000

/**
 * Looks at a whole body. The rows come by the hash of their SIMs: so the pages that neighbours in the store share are
 * written once. As they stand in the file when it depends on the order which of them is refused: two with the same
 * ICCID, or `room` for fewer new SIMs than there are rows.
 *
 * Throws `validation_failed` for too many rows and for a quote that is not closed, `malformed_json`.
 */
export async function planImport(rows: Rows, room: number, pause: Pause): Promise<ImportPlan> {
  const planned: PlannedRow[] = []
  const iccids = new Set<number>()
  let hasTwins = false
  for await (const { place, cells } of filledRows(rows, pause)) {
    if (planned.length >= MAX_ROWS)
      throw validationFailed(`an import has at most ${MAX_ROWS} rows; split the file`)
    const iccid = iccidText(cells)
    if (iccid !== undefined && !hasTwins) hasTwins = isThere(iccids, Number(iccid.slice(-ICCID_END_DIGITS)))
    const imsi = parseImsi(cells.get('imsi') ?? '')
    planned.push({ number: planned.length + 1, place, hash: imsi && imsiHash(imsi) })
  }
  const isFree = !hasTwins && planned.length <= room
  const inOrder = isFree ? await sorted(planned, pause) : planned
  const mayHaveTwins = !isFree || inOrder.some(({ hash }, at) => at > 0 && hash === inOrder[at - 1]?.hash)
  return { count: planned.length, rows: inOrder, mayHaveTwins }
}

async function* filledRows(rows: Rows, pause: Pause) {
  let empty = 0
  for (const place of rows.places()) {
    await pause()
    if (place === undefined) continue
    const cells = rows.cells(place)
    if (cells !== undefined) yield { place, cells }
    else if (++empty > MAX_EMPTY_ROWS)
      throw validationFailed(`more than ${MAX_EMPTY_ROWS} rows have nothing in them; delete them`)
  }
}

/** Whether it was there; now it is. */
function isThere<T>(all: Set<T>, one: T): boolean {
  const before = all.size
  return all.add(one).size === before
}

/** By hash, share by share: to sort all of them at once would keep others waiting. */
async function sorted(rows: readonly PlannedRow[], pause: Pause): Promise<readonly PlannedRow[]> {
  const shares = Map.groupBy(rows, ({ hash }) => hash?.slice(0, 2) ?? '')
  const result: PlannedRow[] = []
  for (const name of [...shares.keys()].sort()) {
    result.push(...(shares.get(name) ?? []).sort(byHash))
    await pause()
  }
  return result
}

/** Of two rows of one SIM the first in the file comes first. */
function byHash(one: PlannedRow, other: PlannedRow): number {
  const first = one.hash ?? ''
  const second = other.hash ?? ''
  return first === second ? one.number - other.number : first < second ? -1 : 1
}
