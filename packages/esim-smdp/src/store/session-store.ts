import type { Reader, Tx } from '@steeple/contracts'
import { SESSIONS, type SessionRow, type SessionStep } from './rows.ts'

/** Sessions of which no eUICC has proved who it is: so many are kept; the oldest one of the network that has most goes first. */
export const MOST_INITIATED = 1_000
/** Those of one network: as many phones behind one address may begin at once. */
export const MOST_OF_PEER = 250

const MOST_BUSY = `select peer from esim_smdp_session where step = 'initiated'
  group by peer order by count(*) desc, min(created_at_ms) limit 1`
const OLDEST = `delete from esim_smdp_session where tid in
  (select tid from esim_smdp_session where peer = (${MOST_BUSY}) and step = 'initiated' order by created_at_ms, tid
   limit :surplus)`
const OLDEST_OF_PEER = `delete from esim_smdp_session where tid in
  (select tid from esim_smdp_session where peer = :peer and step = 'initiated' order by created_at_ms, tid limit :surplus)`
const COUNT = "select count(*) as n from esim_smdp_session where step = 'initiated'"
const COUNT_OF_PEER = "select count(*) as n from esim_smdp_session where peer = :peer and step = 'initiated'"
const OVER = `delete from esim_smdp_session where tid in
  (select tid from esim_smdp_session where expires_at_ms <= :now order by expires_at_ms limit :most)`
/** Those that were refused and have no code: so many are known for their cancellation. */
const MOST_REFUSED = 1_000
const REFUSED = `delete from esim_smdp_session where tid in
  (select tid from esim_smdp_session where step = 'ended' and token is null
   order by created_at_ms desc, tid limit :most offset ${MOST_REFUSED})`
const BY_STEP = 'select step, count(*) as n from esim_smdp_session group by step'

/** Keeps a new session, and makes room for it among those that nobody has claimed. */
export async function beginSession(tx: Tx, row: SessionRow): Promise<void> {
  if (row.peer !== '') {
    const surplus = (await countOf(tx, COUNT_OF_PEER, { peer: row.peer })) - MOST_OF_PEER + 1
    if (surplus > 0) await tx.run(OLDEST_OF_PEER, { peer: row.peer, surplus })
  }
  const surplus = (await countOf(tx, COUNT)) - MOST_INITIATED + 1
  if (surplus > 0) await tx.run(OLDEST, { surplus })
  await SESSIONS.insert(tx, row)
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
 * Takes a session one step further, if it still is where it was: of two calls of one step one gets true. The store has one
 * writer at a time, so what is read in a transaction holds until it is written.
 */
export async function advance(tx: Tx, from: SessionRow, to: Partial<SessionRow>): Promise<boolean> {
  const now = await SESSIONS.find(tx, { tid: from.tid })
  if (now === undefined || now.step !== from.step) return false
  await SESSIONS.change(tx, now, { ...now, ...to })
  return true
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

async function countOf(reader: Reader, sql: string, params?: { readonly peer: string }): Promise<number> {
  return Number((await reader.get<{ readonly n: number }>(sql, params))?.n ?? 0)
}
