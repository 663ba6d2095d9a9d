import {
  defineError,
  type ErrorFactory,
  forbidden,
  type JsonSchema,
  objectSchema,
  PAGE_QUERY,
  type Page,
  type Principal,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import { endSession } from '../derived/end-derived.ts'
import { PARENT_SCHEMA, parentRecord } from '../derived/parent.ts'
import { ID_PARAMS, ID_SCHEMA, type IdParams } from '../route-parts.ts'
import { sessionOfCredential } from './jwt.ts'
import type { People } from './people.ts'
import { listSessions, SESSIONS, type SessionRow } from './session-store.ts'
import { SESSION_IDLE_MS } from './sessions.ts'
import { USERS } from './user-store.ts'

const FIELDS: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string' },
  user_id: { type: 'string' },
  user_name: { type: 'string' },
  method: { type: 'string', description: 'password, recovery, passkey or link; more may come.' },
  created_at: TIMESTAMP_SCHEMA,
  last_used_at: { ...TIMESTAMP_SCHEMA, description: 'When it was opened or last refreshed.' },
  expires_at: TIMESTAMP_SCHEMA,
  address: { type: 'string', description: 'Where it was opened or last refreshed from.' },
  agent: { type: 'string', description: 'What the client called itself.' },
  parent: PARENT_SCHEMA,
  current: { type: 'boolean', description: 'Whether this request is of it.' },
}
const SESSION_SCHEMA = recordSchema(FIELDS)

/** No session that is alive, or that of somebody else. */
const sessionNotFound: ErrorFactory = defineError(
  'session_not_found',
  404,
  'there is no session %s of yours; GET /v1/auth/sessions has them',
)

interface ListQuery {
  readonly user_id?: string
}

/** The routes under `/v1/auth/sessions`. */
export function sessionRoutes(people: People): readonly Route[] {
  return [listRoute(people), endRoute(people)]
}

function listRoute(people: People): Route {
  return route<unknown, ListQuery, unknown>({
    method: 'GET',
    path: '/v1/auth/sessions',
    role: 'viewer',
    summary: 'List the open sessions of people, newest first',
    description: 'Your own sessions; with the role admin those of everybody, or of user_id.',
    schema: {
      query: objectSchema({ ...PAGE_QUERY, user_id: ID_SCHEMA }),
      response: pageSchema('sessions', SESSION_SCHEMA),
    },
    paged: true,
    errors: ['forbidden'],
    handle: async (request) => {
      const { user_id } = request.query
      if (user_id !== undefined && !mayTouch(request.principal, user_id)) throw forbidden('admin')
      const userId = request.principal.roles.has('admin') ? user_id : request.principal.id
      const current = sessionOfCredential(request.header('authorization'))
      return { body: await sessionPage(people, userId, request.page(), current) }
    },
  })
}

function endRoute({ context, forget }: People): Route {
  return route<IdParams, unknown, unknown>({
    method: 'DELETE',
    path: '/v1/auth/sessions/:id',
    role: 'viewer',
    summary: 'End a session of your own; as admin, of anyone',
    description: 'Its JWT stops working at once, and so does everything that its links have opened.',
    schema: { params: ID_PARAMS, status: 204 },
    audit: 'auth.session.end',
    errors: ['session_not_found'],
    handle: (request) => {
      const { id } = request.params
      return request.mutate(id, async (tx) => {
        const session = await SESSIONS.find(tx, { id })
        if (session === undefined || !mayTouch(request.principal, session.user_id)) {
          throw sessionNotFound(id)
        }
        await endSession(tx, id, context.clock.nowMs())
        const user = await USERS.find(tx, { id: session.user_id })
        tx.audit({ detail: { user: user?.name ?? session.user_id } })
        tx.afterCommit(forget)
        return { status: 204 }
      })
    },
  })
}

function mayTouch(principal: Principal, userId: string): boolean {
  return principal.roles.has('admin') || (principal.kind === 'user' && principal.id === userId)
}

async function sessionPage(
  { context }: People,
  userId: string | undefined,
  page: Page,
  current: string | undefined,
): Promise<object> {
  const nowMs = context.clock.nowMs()
  const filter = { userId, nowMs, idleMs: nowMs - SESSION_IDLE_MS }
  const rows = await listSessions(context.db, filter, page)
  const record = async (row: SessionRow): Promise<object> => {
    const user = await USERS.find(context.db, { id: row.user_id })
    return sessionRecord(row, user?.name ?? row.user_id, row.id === current)
  }
  return pageFrom(page, 'sessions', rows, record, (row) => [row.created_at_ms, row.id])
}

function sessionRecord(row: SessionRow, userName: string, current: boolean): object {
  return {
    id: row.id,
    user_id: row.user_id,
    user_name: userName,
    method: row.method,
    created_at: timestampFromMs(row.created_at_ms),
    last_used_at: timestampFromMs(row.used_at_ms),
    expires_at: timestampFromMs(row.expires_at_ms),
    address: row.address,
    agent: row.agent,
    parent: parentRecord(row.parent),
    current,
  }
}
