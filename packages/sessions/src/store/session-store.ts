import type {
  Context,
  ImsiHash,
  Reader,
  RecordedSession,
  SessionHistory,
  SqlParams,
  SqlValue,
  TimeSpan,
} from '@steeple/contracts'
import { bestOf, volumesFromText } from '../join/session.ts'
import type { SourceOrder } from '../ledger/counting.ts'
import { SESSIONS, type SessionRow } from './tables.ts'

/** What a list shows; every part narrows it. Without a state: those that go on. */
export interface SessionFilter {
  readonly state?: string
  readonly apn?: string
  readonly imsi?: string
  readonly technology?: string
}

/** At most `limit` sessions with a number below `before`, newest first. Throws `store_corrupt`. */
export function listSessions(
  reader: Reader,
  filter: SessionFilter,
  limit: number,
  before: number | undefined,
): Promise<readonly SessionRow[]> {
  const params: Record<string, SqlValue> = { limit, live: filter.state === 'ended' ? 0 : 1 }
  const where = ['is_live = :live']
  for (const name of ['imsi', 'apn', 'technology'] as const) {
    const value = filter[name]
    if (value === undefined) continue
    where.push(`${name} = :${name}`)
    params[name] = value
  }
  if (filter.state === 'active' || filter.state === 'idle') {
    where.push('state = :state')
    params.state = filter.state
  }
  if (before !== undefined) {
    where.push('id < :before')
    params.before = before
  }
  return SESSIONS.select(reader, `where ${where.join(' and ')} order by id desc limit :limit`, params)
}

const BETWEEN = `where id > :after and id <= :up_to and started_at_ms < :to_ms
  and (ended_at_ms is null or ended_at_ms >= :from_ms) order by id`
const OF_SIM = `where imsi = :imsi and started_at_ms < :to_ms
  and (ended_at_ms is null or ended_at_ms >= :from_ms) order by id desc limit 100`

const LAST = 'select coalesce(max(id), 0) as id from sessions_session'
const FIRST = 'select coalesce(min(id), 0) as id from sessions_session'

async function numberOf(reader: Reader, sql: string): Promise<number> {
  return Number((await reader.get<{ readonly id: number }>(sql))?.id ?? 0)
}

/** Sessions for whoever keeps a record. Throws `store_corrupt`. */
export function sessionHistory({ db }: Pick<Context, 'db'>, order: SourceOrder): SessionHistory {
  const select = async (rest: string, { fromMs, toMs }: TimeSpan, params: SqlParams) => {
    const rows = await SESSIONS.select(db, rest, { ...params, from_ms: fromMs, to_ms: toMs })
    return rows.map((row) => recordedOf(row, order))
  }
  return {
    page: async (span, after, limit) => {
      // Windows of numbers, so that a span in which little happened is not looked for in one go.
      const from = Math.max(after, (await numberOf(db, FIRST)) - 1)
      const upTo = from + limit
      const sessions = await select(BETWEEN, span, { after: from, up_to: upTo })
      return { sessions, next: upTo < (await numberOf(db, LAST)) ? upTo : undefined }
    },
    of: (imsi, span) => select(OF_SIM, span, { imsi }),
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
