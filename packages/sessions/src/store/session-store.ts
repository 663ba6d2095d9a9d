import type { Reader, SqlParams, SqlValue, TimeSpan } from '@steeple/contracts'
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
  const all: SqlParams = params
  return SESSIONS.select(reader, `where ${where.join(' and ')} order by id desc limit :limit`, all)
}

const BETWEEN = `where id > :after and id <= :up_to and started_at_ms < :to_ms
  and (ended_at_ms is null or ended_at_ms >= :from_ms) order by id`
const OF_SIM = `where imsi = :imsi and started_at_ms < :to_ms
  and (ended_at_ms is null or ended_at_ms >= :from_ms) order by id desc limit 100`

/** The newest sessions of a SIM that reach into a span. Throws `store_corrupt`. */
export function sessionsOfSim(
  reader: Reader,
  imsi: string,
  { fromMs, toMs }: TimeSpan,
): Promise<readonly SessionRow[]> {
  return SESSIONS.select(reader, OF_SIM, { imsi, from_ms: fromMs, to_ms: toMs })
}

const LAST = 'select coalesce(max(id), 0) as id from sessions_session'
const FIRST = 'select coalesce(min(id), 0) as id from sessions_session'

/** Sessions that reach into a span, with numbers behind `after` up to `upTo`, by number. Throws `store_corrupt`. */
export function sessionsBetween(
  reader: Reader,
  { fromMs, toMs }: TimeSpan,
  after: number,
  upTo: number,
): Promise<readonly SessionRow[]> {
  return SESSIONS.select(reader, BETWEEN, { after, up_to: upTo, from_ms: fromMs, to_ms: toMs })
}

/** The numbers of the first and of the last session that is kept; 0 without one. */
export async function sessionNumbers(
  reader: Reader,
): Promise<{ readonly first: number; readonly last: number }> {
  const first = await reader.get<{ readonly id: number }>(FIRST)
  const last = await reader.get<{ readonly id: number }>(LAST)
  return { first: Number(first?.id ?? 0), last: Number(last?.id ?? 0) }
}
