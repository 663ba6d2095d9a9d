import type { Reader, SqlParams, SqlValue } from '@steeple/contracts'
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
