import {
  type AuditEntry,
  type AuditFilter,
  auditTrailRef,
  type Context,
  fieldRefused,
  type JsonSchema,
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
} from '@steeple/contracts'
import { BY_SCHEMA } from './route-parts.ts'

/** The filters of `GET /v1/audit` as they come. */
interface AuditQuery {
  readonly action?: string
  readonly principal?: string
  readonly target?: string
  readonly from?: string
  readonly to?: string
}

const FILTER_TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: 256, pattern: PLAIN_TEXT_PATTERN }

const AUDIT_QUERY: JsonSchema = objectSchema({
  ...PAGE_QUERY,
  action: { ...FILTER_TEXT, description: 'Exact, such as token.create.' },
  principal: { ...FILTER_TEXT, description: 'The id of a principal.' },
  target: FILTER_TEXT,
  from: { ...TIMESTAMP_SCHEMA, description: 'Entries at or after this time.' },
  to: { ...TIMESTAMP_SCHEMA, description: 'Entries before this time.' },
})

const ENTRY_SCHEMA: JsonSchema = recordSchema({
  seq: { type: 'integer' },
  at: TIMESTAMP_SCHEMA,
  principal: BY_SCHEMA,
  action: { type: 'string' },
  target: { type: 'string' },
  label: {
    type: ['string', 'null'],
    description: 'The label that the target has now, where it is a SIM. No part of the chain.',
  },
  outcome: { type: 'string', description: 'ok, denied or failed; more may come.' },
  request_id: { type: ['string', 'null'] },
  detail: { type: 'object', additionalProperties: true },
  hash: { type: 'string' },
  prev_hash: { type: 'string' },
})

/** The routes under `/v1/audit`. */
export function auditRoutes(context: Context): readonly Route[] {
  return [
    route<unknown, AuditQuery, unknown>({
      method: 'GET',
      path: '/v1/audit',
      role: 'operator',
      summary: 'List the audit trail, newest first',
      description:
        'Each entry names who did what to what, and how it ended. Entries are chained by their hashes; svc audit verify checks the chain.',
      schema: { query: AUDIT_QUERY, response: pageSchema('entries', ENTRY_SCHEMA) },
      paged: true,
      conditional: true,
      handle: async (request) => ({
        body: await auditPage(context, auditFilterFrom(request.query), request.page()),
      }),
    }),
  ]
}

/** The filter of a query. Throws `validation_failed` when a time is none. */
export function auditFilterFrom(query: AuditQuery): AuditFilter {
  const { action, principal, target } = query
  const fromMs = timeFrom('from', query.from)
  const toMs = timeFrom('to', query.to)
  return {
    ...(action === undefined ? {} : { action }),
    ...(principal === undefined ? {} : { principal }),
    ...(target === undefined ? {} : { target }),
    ...(fromMs === undefined ? {} : { fromMs }),
    ...(toMs === undefined ? {} : { toMs }),
  }
}

function timeFrom(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const atMs = Date.parse(text)
  if (!Number.isNaN(atMs)) return atMs
  throw fieldRefused(`/${name}`, 'must be an RFC 3339 timestamp')
}

async function auditPage(context: Context, filter: AuditFilter, page: Page): Promise<object> {
  const beforeSeq = page.after === undefined ? undefined : Number(page.after[0])
  const entries = await context.use(auditTrailRef).list(filter, page.limit + 1, beforeSeq)
  const targets = entries.map(({ target }) => target)
  const labels = await simLabels(context, targets)
  const record = (entry: AuditEntry): object => entryRecord(entry, labels.get(entry.target))
  return pageFrom(page, 'entries', entries, record, ({ seq }) => [seq])
}

function entryRecord(entry: AuditEntry, label: string | undefined): object {
  const { kind, id, name } = entry.principal
  return {
    seq: entry.seq,
    at: new Date(entry.atMs).toISOString(),
    principal: { kind, id, name },
    action: entry.action,
    target: entry.target,
    label: label ?? null,
    outcome: entry.outcome,
    request_id: entry.requestId ?? null,
    detail: entry.detail,
    hash: entry.hash,
    prev_hash: entry.prevHash,
  }
}
