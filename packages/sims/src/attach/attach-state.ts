import type { Reader } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { seenTimes } from '../store/seen-store.ts'
import type { SimRow } from '../store/sim-row.ts'
import type { Attached } from './attached-set.ts'

/** What is known of a SIM's phone. */
export interface AttachState {
  /** Null: the core does not tell. */
  readonly attached: boolean | null
  readonly lastSeenAtMs: number | null
}

/** A phone of which nothing is known. */
export const NEVER_SEEN: AttachState = { attached: null, lastSeenAtMs: null }

type SeenRow = Pick<SimRow, 'hash' | 'attached_at_ms'>

/** A SIM that no phone was seen with yet, as far as the core tells. */
export function newAttachState(parts: SimsParts): AttachState {
  return { attached: parts.attachedSet.now() === undefined ? null : false, lastSeenAtMs: null }
}

/** The phones of SIMs in their order, as `attached` has them. */
export async function attachStatesOf(
  reader: Reader,
  rows: readonly SeenRow[],
  attached: Attached | undefined,
): Promise<readonly AttachState[]> {
  const gone = rows.filter((row) => isGone(row, attached)).map(({ hash }) => hash)
  const times = gone.length === 0 ? NO_TIMES : await seenTimes(reader, gone)
  return rows.map((row) => attachStateIn(row, times, attached))
}

const NO_TIMES: ReadonlyMap<string, number> = new Map()

/** Who never attached was never seen, and who is there is seen now: for the others it is written down. */
function isGone(row: SeenRow, attached: Attached | undefined): boolean {
  const present: ReadonlySet<string> | undefined = attached?.hashes
  return row.attached_at_ms !== null && present?.has(row.hash) !== true
}

function attachStateIn(
  row: SeenRow,
  times: ReadonlyMap<string, number>,
  attached: Attached | undefined,
): AttachState {
  const present: ReadonlySet<string> | undefined = attached?.hashes
  if (present?.has(row.hash) === true) return { attached: true, lastSeenAtMs: attached?.atMs ?? null }
  return {
    attached: present === undefined ? null : false,
    lastSeenAtMs: times.get(row.hash) ?? row.attached_at_ms,
  }
}

/** The phone of one SIM; the core is asked anew when it was not asked a moment ago. */
export async function attachStateOf({ context, attachedSet }: SimsParts, row: SeenRow): Promise<AttachState> {
  return await oneAttachState(context.db, row, await attachedSet.fresh())
}

/** The phone of one SIM as it was last seen, without waiting for the core. */
export async function oneAttachState(
  reader: Reader,
  row: SeenRow,
  attached: Attached | undefined,
): Promise<AttachState> {
  return attachStateIn(row, isGone(row, attached) ? await seenTimes(reader, [row.hash]) : NO_TIMES, attached)
}

/** The SIM whose phone attached last, as far as this process has seen. */
export interface LastAttached {
  last(): string | undefined
  attached(hash: string): void
}

/** Nobody seen yet. */
export function nobodyAttached(): LastAttached {
  let last: string | undefined
  return {
    last: () => last,
    attached: (hash) => {
      last = hash
    },
  }
}
