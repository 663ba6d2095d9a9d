import {
  type Context,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  PAGE_QUERY,
  type Page,
  PLAIN_TEXT_PATTERN,
  pageFrom,
  pageSchema,
  type Route,
  recordSchema,
  route,
  simLabels,
  TIMESTAMP_SCHEMA,
  timestampOrNull,
} from '@steeple/contracts'
import { bestOf, volumesFromText } from '../join/session.ts'
import type { SourceOrder } from '../ledger/counting.ts'
import { listSessions, type SessionFilter } from '../store/session-store.ts'
import type { SessionRow } from '../store/tables.ts'

const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }

const PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string' },
  imsi_sha256_12: { type: 'string' },
  label: { ...NULLABLE_TEXT, description: 'Of the SIM; null where it has none.' },
  apn: { type: 'string' },
  ue_ip: {
    ...NULLABLE_TEXT,
    description:
      'IPv4 address of the phone, or the beginning of its IPv6 prefix; null while it is not known.',
  },
  ue_ipv6_prefix: NULLABLE_TEXT,
  state: { type: 'string', description: 'active, idle or ended; more may come.' },
  started_at: TIMESTAMP_SCHEMA,
  ended_at: NULLABLE_TIMESTAMP_SCHEMA,
  up_bytes: { type: 'integer', description: 'Of the best source that counts it.' },
  down_bytes: { type: 'integer' },
  incomplete: { type: 'boolean', description: 'Some bytes may be missing.' },
  technology: { type: 'string', description: 'lte or nr; more may come.' },
  cell: NULLABLE_TEXT,
  source: { type: 'string', description: 'Who saw it first.' },
  plmn: NULLABLE_TEXT,
}

const SESSION_SCHEMA: JsonSchema = recordSchema(PROPERTIES)

function sessionRecord(
  row: SessionRow,
  order: SourceOrder,
  label: string | undefined,
): Readonly<Record<string, unknown>> {
  const { up, down, isIncomplete } = bestOf(volumesFromText(row.volumes), order)
  return {
    id: String(row.id),
    imsi_sha256_12: row.imsi,
    label: label ?? null,
    apn: row.apn,
    ue_ip: row.address ?? row.prefix?.replace(/\/\d+$/, '') ?? null,
    ue_ipv6_prefix: row.prefix,
    state: row.state,
    started_at: timestampOrNull(row.started_at_ms),
    ended_at: timestampOrNull(row.ended_at_ms),
    up_bytes: up,
    down_bytes: down,
    incomplete: isIncomplete,
    technology: row.technology,
    cell: row.cell,
    source: row.source,
    plmn: row.plmn,
  }
}

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
  const imsis = rows.map(({ imsi }) => imsi)
  const labels = await simLabels(context, imsis)
  const record = (row: (typeof rows)[number]): object => sessionRecord(row, order, labels.get(row.imsi))
  return pageFrom(page, 'sessions', rows, record, ({ id }) => [id])
}
