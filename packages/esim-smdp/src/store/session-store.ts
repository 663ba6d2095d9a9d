import type { Reader, Tx } from '@steeple/contracts'
import { SESSIONS, type SessionRow, type SessionStep } from './rows.ts'

const OVER = `delete from esim_smdp_session where tid in
  (select tid from esim_smdp_session where expires_at_ms <= :now order by expires_at_ms limit :most)`
/** Those that were refused and have no code: so many are known for their cancellation. */
const MOST_REFUSED = 1_000
const REFUSED = `delete from esim_smdp_session where tid in
  (select tid from esim_smdp_session where step = 'ended' and token is null
   order by created_at_ms desc, tid limit :most offset ${MOST_REFUSED})`
const BY_STEP = 'select step, count(*) as n from esim_smdp_session group by step'

/** Keeps a session that an eUICC has claimed, one step further; of two calls that claim it one gets true. */
export async function claim(tx: Tx, begun: SessionRow, to: Partial<SessionRow>): Promise<boolean> {
  return await SESSIONS.insertNew(tx, { ...begun, ...to })
}

/** A session that is in one of those steps and not over. `tid` in any case. */
export async function sessionAt(
  reader: Reader,
  tid: string,
  steps: readonly SessionStep[],
  nowMs: number,
): Promise<SessionRow | undefined> {
  const row = await SESSIONS.find(reader, { tid: tid.toUpperCase() })
  return row !== undefined && steps.includes(row.step) && row.expires_at_ms > nowMs ? row : undefined
}

/**
 * Takes a session, as it was read, one step further, if it still is where it was: of two calls of one step one gets true. Nothing of
 * a session ever changes without its step.
 */
export async function advance(
  tx: Tx,
  from: SessionRow,
  to: Partial<SessionRow> & { readonly step: SessionStep },
): Promise<boolean> {
  return await SESSIONS.swap(tx, from, { ...from, ...to }, 'step')
}

/** Forgets at most `most` sessions that are over, and as many that were refused when they are too many; says how many. */
export async function pruneSessions(tx: Tx, nowMs: number, most: number): Promise<number> {
  const over = await tx.run(OVER, { now: nowMs, most })
  return Math.max(over, await tx.run(REFUSED, { most }))
}

/** How many there are, by step. */
export async function countSessions(reader: Reader): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.all<{ readonly step: string; readonly n: number }>(BY_STEP)
  return new Map(rows.map(({ step, n }) => [step, Number(n)]))
}
