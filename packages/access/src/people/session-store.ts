import { defineTable, type Page, type Reader, type Table, type Tx } from '@steeple/contracts'
import { newestFirst } from '../newest-store.ts'

export type LoginMethod = 'password' | 'recovery' | 'passkey' | 'link'

/** A session as stored. An ended one has no row. Times are ms since the epoch. */
export interface SessionRow {
  readonly id: string
  readonly user_id: string
  readonly method: LoginMethod
  /** How often its refresh token was exchanged: the one token that is good says this number. */
  readonly generation: number
  readonly created_at_ms: number
  readonly used_at_ms: number
  /** When it ends, however much it is used. */
  readonly expires_at_ms: number
  /** The address that it was opened or last refreshed from. */
  readonly address: string
  /** What the client calls itself; for people to tell their sessions apart. */
  readonly agent: string
  /** The session whose link has opened it, which it ends with: see `derived/source.ts`. Null: it was logged in. */
  readonly parent: string | null
}

export const SESSIONS: Table<SessionRow> = defineTable(
  'access_session',
  [
    'id',
    'user_id',
    'method',
    'generation',
    'created_at_ms',
    'used_at_ms',
    'expires_at_ms',
    'address',
    'agent',
    'parent',
  ],
  ['id'],
)

/** Which sessions are asked for: those that are alive, of one user or of all. */
interface SessionFilter {
  readonly userId?: string | undefined
  readonly nowMs: number
  /** A session that was last used before is over. */
  readonly idleMs: number
}

export async function removeAllSessions(tx: Tx): Promise<void> {
  await tx.run('delete from access_session')
}

export function sessionsOf(reader: Reader, userId: string): Promise<readonly SessionRow[]> {
  return SESSIONS.select(reader, 'where user_id = :user_id', { user_id: userId })
}

/** The sessions that end with that credential. */
export function sessionsUnder(reader: Reader, parent: string): Promise<readonly SessionRow[]> {
  return SESSIONS.select(reader, 'where parent = :parent', { parent })
}

/** The sessions that are over, at most `limit`. */
export function sessionsOver(
  reader: Reader,
  nowMs: number,
  idleMs: number,
  limit: number,
): Promise<readonly SessionRow[]> {
  return SESSIONS.select(reader, 'where expires_at_ms <= :now_ms or used_at_ms <= :idle_ms limit :limit', {
    now_ms: nowMs,
    idle_ms: idleMs,
    limit,
  })
}

/** The sessions of a page, newest first, and one more where there are more. */
export function listSessions(
  reader: Reader,
  { userId, nowMs, idleMs }: SessionFilter,
  page: Page,
): Promise<readonly SessionRow[]> {
  return newestFirst(SESSIONS, reader, page, {
    where: [
      'expires_at_ms > :now_ms and used_at_ms > :idle_ms',
      ...(userId === undefined ? [] : ['user_id = :user_id']),
    ],
    params: { now_ms: nowMs, idle_ms: idleMs, ...(userId === undefined ? {} : { user_id: userId }) },
  })
}
