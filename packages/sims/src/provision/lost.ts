import type { HssDriver } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { openImsi } from '../secrets/sealing.ts'
import type { SimRow } from '../store/sim-row.ts'
import { adoptRows } from './adopt.ts'
import { markDrifted } from './marks.ts'
import { withSubscribers } from './subscriber.ts'

/**
 * A SEQ that no authentication since the SIM was issued can have reached: one for each second. It stays within the
 * 2^28 that a card accepts in one step (TS 33.102 annex C.2.1) for eight years.
 */
export function laterSeq(row: Pick<SimRow, 'hss_seq' | 'issued_at_ms'>, nowMs: number): number {
  return Math.max(row.hss_seq + 1, seqAt(row, nowMs))
}

/**
 * Pushes rows whole. The error of each, in their order; undefined when the HSS did not answer.
 */
export async function upsertRows(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly (Error | undefined)[] | undefined> {
  const whole = await adoptRows(parts, driver, rows, signal)
  const ready = whole === undefined ? undefined : await withLaterSeq(parts, driver, whole, signal)
  if (ready === undefined) return undefined
  return await withSubscribers(parts.vault, ready, (subscribers) => {
    const imsis = subscribers.map(({ imsi }) => imsi)
    return parts.hss.write(signal, imsis, (bound) => driver.upsert(subscribers, bound))
  })
}

/**
 * The rows as they are to be pushed: one whose subscriber the HSS has held and lost gets a later SEQ first, durably,
 * so that every further try brings the same. Undefined when the HSS did not answer.
 */
async function withLaterSeq(
  parts: SimsParts,
  driver: HssDriver,
  rows: readonly SimRow[],
  signal: AbortSignal,
): Promise<readonly SimRow[] | undefined> {
  const doubtful = rows.filter(mayBeLost)
  if (doubtful.length === 0) return rows
  const imsis = new Map(doubtful.map((row) => [row.hash, openImsi(parts.vault, row)]))
  const seen = await parts.hss.call(signal, (bound) => driver.observe([...imsis.values()], bound))
  if (seen === undefined) return undefined
  const nowMs = parts.context.clock.nowMs()
  const seqs = new Map<string, number>()
  for (const row of doubtful) {
    const imsi = imsis.get(row.hash)
    if (imsi !== undefined && !seen.has(imsi)) seqs.set(row.hash, laterSeq(row, nowMs))
  }
  if (seqs.size === 0) return rows
  const reason = 'the subscriber was missing in the HSS'
  await markDrifted(
    parts.context,
    doubtful.flatMap((row) => {
      const seq = seqs.get(row.hash)
      return seq === undefined ? [] : [{ row, reason, seq }]
    }),
  )
  return rows.map((row) => ({ ...row, hss_seq: seqs.get(row.hash) ?? row.hss_seq }))
}

/** Whether it was in an HSS and its SEQ has not grown since it was last seen there. */
function mayBeLost(row: SimRow): boolean {
  if (row.hss_synced_at_ms === null || row.hss_driver === 'none') return false
  return row.hss_seq <= seqAt(row, row.hss_synced_at_ms)
}

function seqAt(row: Pick<SimRow, 'issued_at_ms'>, atMs: number): number {
  return Math.floor((atMs - row.issued_at_ms) / 1_000) + 1
}
