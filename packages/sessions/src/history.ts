import type { Context, ImsiHash, RecordedSession, SessionHistory } from '@steeple/contracts'
import { volumesFromText } from './join/session.ts'
import type { SourceOrder } from './ledger/counting.ts'
import { bestOf } from './routes/session-routes.ts'
import { sessionNumbers, sessionsBetween, sessionsOfSim } from './store/session-store.ts'
import type { SessionRow } from './store/tables.ts'

/** Sessions for whoever keeps a record. */
export function sessionHistory({ db }: Pick<Context, 'db'>, order: SourceOrder): SessionHistory {
  return {
    page: async (span, after, limit) => {
      // Windows of numbers, so that a span in which little happened is not looked for in one go.
      const { first, last } = await sessionNumbers(db)
      const from = Math.max(after, first - 1)
      const upTo = from + limit
      const rows = await sessionsBetween(db, span, from, upTo)
      return {
        sessions: rows.map((row) => recordedOf(row, order)),
        next: upTo < last ? upTo : undefined,
      }
    },
    of: async (imsi, span) => (await sessionsOfSim(db, imsi, span)).map((row) => recordedOf(row, order)),
  }
}

function recordedOf(row: SessionRow, order: SourceOrder): RecordedSession {
  const { up, down } = bestOf(volumesFromText(row.volumes), order)
  return {
    id: row.id,
    // A hash of the store is one.
    imsi: row.imsi as ImsiHash,
    apn: row.apn,
    plmn: row.plmn,
    address: row.address ?? row.prefix,
    technology: row.technology,
    cell: row.cell,
    source: row.source,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
    upBytes: up,
    downBytes: down,
  }
}
