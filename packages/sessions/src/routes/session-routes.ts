import {
  type Context,
  objectSchema,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageSchema,
  type Route,
  route,
} from '@steeple/contracts'
import type { SourceOrder } from '../ledger/counting.ts'
import { listSessions, type SessionFilter } from '../store/session-store.ts'
import { SESSION_SCHEMA, sessionRecord } from './session-record.ts'

const FILTERS = {
  state: {
    type: 'string',
    enum: ['active', 'idle', 'ended'],
    description:
      'Those that go on when absent; ended: those that are over, as long as the policy keeps them.',
  },
  apn: { type: 'string', minLength: 1, maxLength: 100, pattern: PLAIN_TEXT_PATTERN },
  imsi: {
    type: 'string',
    pattern: '^[0-9a-f]{12}$',
    description: 'The first 12 hexadecimal characters of the SHA-256 of the IMSI, never the IMSI itself.',
  },
  technology: { type: 'string', enum: ['lte', 'nr'] },
} as const

/** `GET /v1/sessions`. */
export function sessionRoutes(context: Context, order: SourceOrder): readonly Route[] {
  return [
    route<unknown, SessionFilter, unknown>({
      method: 'GET',
      path: '/v1/sessions',
      role: 'viewer',
      summary: 'List the sessions of phones, newest first',
      description:
        'Live sessions; those that have ended with state=ended, as long as the policy keeps them. Subscribers are named by hash.',
      schema: {
        query: objectSchema({ ...PAGE_QUERY, ...FILTERS }),
        response: pageSchema('sessions', SESSION_SCHEMA),
      },
      errors: ['store_corrupt'],
      paged: true,
      conditional: true,
      handle: async (request) => ({
        body: await sessionPage(context, order, request.query, request.page()),
      }),
    }),
  ]
}

async function sessionPage(
  context: Context,
  order: SourceOrder,
  filter: SessionFilter,
  page: Page,
): Promise<object> {
  const before = page.after === undefined ? undefined : Number(page.after[0])
  const rows = await listSessions(context.db, filter, page.limit + 1, before)
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    sessions: shown.map((row) => sessionRecord(row, order)),
    next_cursor: rows.length > page.limit && last !== undefined ? page.cursor([last.id]) : null,
  }
}
