import { type Context, createPause, isServiceError } from '@steeple/contracts'
import { SIMS, type SimRow } from '../store/sim-row.ts'
import { type SimNews, tellOfSims } from '../tell.ts'

/** What a push has found of one SIM. `row` is what was pushed. */
export interface Mark {
  readonly row: SimRow
  /** Undefined: the HSS holds it now. Otherwise why not. */
  readonly error: string | undefined
  readonly status: 'synced' | 'pending' | 'failed'
}

/** Of a SIM that the HSS gave no answer for: the breaker says why, for all of them, and nothing is written. */
export function unanswered(row: SimRow): Mark {
  return { row, error: row.hss_error ?? undefined, status: 'pending' }
}

const TYPES: Readonly<Record<Mark['status'], SimNews['type']>> = {
  synced: 'sim.synced',
  pending: 'sim.pending',
  failed: 'sim.refused',
}

/** Writes the marks in one transaction, and tells of those that stand otherwise then. A SIM that was changed since it was read stays pending. */
export async function writeMarks(
  context: Pick<Context, 'observe'>,
  driver: string,
  nowMs: number,
  marks: readonly Mark[],
): Promise<void> {
  const news = marks.filter((mark) => !isKnown(mark, driver))
  if (news.length === 0) return
  await context.observe(async (tx) => {
    const pause = createPause()
    const told: SimNews[] = []
    for (const mark of news) {
      const { hash } = mark.row
      const now = await SIMS.find(tx, { hash })
      if (now !== undefined) {
        const next = marked(now, mark, driver, nowMs)
        await SIMS.put(tx, next)
        const isOther = next.hss_status !== now.hss_status || next.hss_driver !== now.hss_driver
        if (isOther) told.push({ type: TYPES[next.hss_status as Mark['status']], hash })
      }
      await pause()
    }
    tellOfSims(tx, told)
  })
}

function marked(now: SimRow, { row, error, status }: Mark, driver: string, nowMs: number): SimRow {
  const isStale = now.generation !== row.generation
  const held = status === 'synced' ? { hss_driver: driver, hss_synced_at_ms: nowMs } : {}
  return isStale
    ? { ...now, ...held, hss_status: 'pending' }
    : { ...now, ...held, hss_status: status, hss_error: error ?? null }
}

/** Whether the row says that already: a push that keeps failing for one reason is written once. */
function isKnown({ row, error, status }: Mark, driver: string): boolean {
  return (
    row.hss_status === status &&
    row.hss_error === (error ?? null) &&
    (status !== 'synced' || row.hss_driver === driver)
  )
}

/** Says that the HSS lacks what it had; `seq` is later than every SEQ used. Gives whether the SIM still is as it was read. */
export async function markDrifted(
  context: Pick<Context, 'observe'>,
  rows: readonly {
    readonly row: Pick<SimRow, 'hash' | 'generation'>
    readonly reason: string
    readonly seq: number
  }[],
): Promise<void> {
  await context.observe(async (tx) => {
    const told: SimNews[] = []
    for (const { row, reason, seq } of rows) {
      const now = await readable(SIMS.find(tx, { hash: row.hash }))
      if (now === undefined || now.generation !== row.generation) continue
      await SIMS.put(tx, {
        ...now,
        hss_status: 'pending',
        hss_error: reason,
        hss_seq: Math.max(now.hss_seq, seq),
      })
      if (now.hss_status !== 'pending') told.push({ type: TYPES.pending, hash: row.hash })
    }
    tellOfSims(tx, told)
  })
}

/** A row that fails its checksum waits until somebody has mended it. */
async function readable(found: Promise<SimRow | undefined>): Promise<SimRow | undefined> {
  try {
    return await found
  } catch (error) {
    if (isServiceError(error) && error.code === 'store_corrupt') return undefined
    throw error
  }
}
