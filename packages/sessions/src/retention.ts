import { type Context, policyRef } from '@steeple/contracts'
import { putAllInto } from './store/bulk.ts'
import { LEDGER, type LedgerRow } from './store/tables.ts'

const putRows = putAllInto(LEDGER)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Specification, Limits: retention while no policy is loaded. */
const DEFAULT_DAYS = { sessions: 30, metrics: 90 }
/** Rows removed in one transaction, and transactions of one run: what is left comes in the next. */
const AT_ONCE = 1_000
const MOST_RUNS = 2_000
const PRUNE_LEDGER = `delete from sessions_ledger where (imsi, hour_ms, source) in
  (select imsi, hour_ms, source from sessions_ledger where is_open in (0, 1) and hour_ms < :before limit ${AT_ONCE})`
const TO_CLOSE = 'where is_open = 1 and hour_ms < :before order by hour_ms limit :limit'
/** A session that a source still lists stays: without it the stale entry would be taken for a new session. */
const PAST = `select id from sessions_session where is_live = 0 and ended_at_ms < :before and not exists
  (select 1 from sessions_link where session_id = sessions_session.id and is_live = 1) order by ended_at_ms limit ${AT_ONCE}`
const PRUNE_LINKS = `delete from sessions_link where session_id in (${PAST})`
const PRUNE_SESSIONS = `delete from sessions_session where id in (${PAST})`
/** Rows closed in one transaction. */
const CLOSED_AT_ONCE = 200
const CLOSED: Pick<LedgerRow, 'is_open' | 'spans'> = { is_open: 0, spans: null }
/** What comes later than this is set against a whole hour. */
const SPANS_KEPT_MS = 3 * DAY_MS

/** Removes what is older than the policy keeps, by a believed clock. */
export async function prune(context: Context, signal: AbortSignal): Promise<void> {
  if (context.clock.doubt?.() !== undefined) return
  const days = context.maybe(policyRef)?.bundle().retention_days ?? DEFAULT_DAYS
  const nowMs = context.clock.nowMs()
  const sessionsBeforeMs = nowMs - days.sessions * DAY_MS
  await inChunks(context, signal, [PRUNE_LEDGER], nowMs - days.metrics * DAY_MS)
  await closeHours(context, signal, nowMs - SPANS_KEPT_MS)
  await inChunks(context, signal, [PRUNE_LINKS, PRUNE_SESSIONS], sessionsBeforeMs)
}

/** Takes the spans of rows away that nothing is expected for any more: they are most of a row. */
async function closeHours(context: Context, signal: AbortSignal, before: number): Promise<void> {
  for (let run = 0; run < MOST_RUNS && !signal.aborted; run++) {
    const closed = await context.db.write(async (tx) => {
      const { rows } = await LEDGER.sound(tx, TO_CLOSE, { before, limit: CLOSED_AT_ONCE })
      await putRows(
        tx,
        rows.map((row) => ({ ...row, ...CLOSED })),
      )
      return rows.length
    })
    if (closed === 0) return
  }
}

/** Runs the statements in transactions until the last of them removes nothing. */
async function inChunks(
  context: Context,
  signal: AbortSignal,
  statements: readonly string[],
  before: number,
): Promise<void> {
  for (let run = 0; run < MOST_RUNS && !signal.aborted; run++) {
    const removed = await context.db.write(async (tx) => {
      let last = 0
      for (const sql of statements) last = await tx.run(sql, { before })
      return last
    })
    if (removed === 0) return
  }
}
