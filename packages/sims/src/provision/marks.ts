import { createPause, type Db, isServiceError } from '@steeple/contracts'
import { SIMS, type SimRow } from '../store/sim-row.ts'

/** What a push has found of one SIM. `row` is what was pushed. */
export interface Mark {
  readonly row: SimRow
  /** Undefined: the HSS holds it now. Otherwise why not. */
  readonly error: string | undefined
  readonly status: 'synced' | 'pending' | 'failed'
}

/** Writes the marks in one transaction. A SIM that was changed since it was read stays pending. */
export async function writeMarks(
  db: Db,
  driver: string,
  nowMs: number,
  marks: readonly Mark[],
): Promise<void> {
  const news = marks.filter((mark) => !isKnown(mark, driver))
  if (news.length === 0) return
  await db.write(async (tx) => {
    const pause = createPause()
    for (const mark of news) {
      const now = await SIMS.find(tx, { hash: mark.row.hash })
      if (now !== undefined) await SIMS.put(tx, marked(now, mark, driver, nowMs))
      await pause()
    }
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
  db: Db,
  rows: readonly {
    readonly row: Pick<SimRow, 'hash' | 'generation'>
    readonly reason: string
    readonly seq: number
  }[],
): Promise<void> {
  await db.write(async (tx) => {
    for (const { row, reason, seq } of rows) {
      const now = await readable(SIMS.find(tx, { hash: row.hash }))
      if (now === undefined || now.generation !== row.generation) continue
      await SIMS.put(tx, {
        ...now,
        hss_status: 'pending',
        hss_error: reason,
        hss_seq: Math.max(now.hss_seq, seq),
      })
    }
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
