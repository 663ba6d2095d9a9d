import {
  defineError,
  type ErrorFactory,
  type JsonSchema,
  msFromTimestamp,
  objectSchema,
  ok,
  PAGE_QUERY,
  type Page,
  pageFrom,
  pageSchema,
  type Request,
  type Route,
  recordSchema,
  route,
  simLabels,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  validationFailed,
} from '@steeple/contracts'
import type { AlertParts } from '../parts.ts'
import { ALERT_SCHEMA, alertRecord } from '../record.ts'
import {
  ALERTS,
  type AlertFilter,
  type AlertRow,
  alertsAfter,
  openKey,
  SILENCES,
  type SilenceRow,
  silencesAt,
} from '../store/alert-store.ts'
import { tell } from '../webhooks/message.ts'

interface IdParams {
  readonly id: string
}
interface SilenceBody {
  readonly until: string | null
}

const DAY_MS = 86_400_000
/** A silence that lasts longer is forgotten by whoever asked for it. */
const MOST_DAYS = 90
const ID: JsonSchema = { type: 'string', pattern: '^a-[0-9a-f]{16}$' }
const PARAMS = recordSchema({ id: ID })
const FILTER: Readonly<Record<string, JsonSchema>> = {
  state: {
    type: 'string',
    enum: ['pending', 'firing', 'resolved', 'open'],
    description: 'open: pending or firing.',
  },
  severity: { type: 'string', enum: ['info', 'warning', 'critical'] },
  rule: { type: 'string', pattern: '^[a-z][a-z0-9_-]{0,63}$' },
}

const alertNotFound: ErrorFactory = defineError(
  'alert_not_found',
  404,
  'there is no alert %s; look for it in the list of alerts',
)
const alertStateConflict: ErrorFactory = defineError(
  'alert_state_conflict',
  409,
  'the alert %s is over; choose one that is open',
)

/** The list of alerts, and what people do with one. */
export function alertRoutes(parts: AlertParts): readonly Route[] {
  return [
    route<unknown, AlertFilter, unknown>({
      method: 'GET',
      path: '/v1/alerts',
      role: 'viewer',
      summary: 'List alerts, newest first, including those that are over',
      description:
        'An alert is pending until its condition has held for the time of its rule, then firing, then resolved.',
      schema: {
        query: objectSchema({ ...PAGE_QUERY, ...FILTER }),
        response: pageSchema('alerts', ALERT_SCHEMA),
      },
      errors: ['validation_failed', 'store_corrupt'],
      paged: true,
      conditional: true,
      handle: async (request) => ok(await pageOf(parts, request.query, request.page())),
    }),
    route<IdParams, unknown, unknown>({
      method: 'POST',
      path: '/v1/alerts/:id/ack',
      role: 'operator',
      summary: 'Acknowledge an alert: somebody works on it',
      description: 'It stays as it is until it is over. Repeating it changes nothing.',
      schema: { params: PARAMS, body: objectSchema({}), response: ALERT_SCHEMA },
      errors: ['alert_not_found', 'alert_state_conflict', 'store_corrupt'],
      audit: 'alert.ack',
      handle: (request) => ack(parts, request),
    }),
    route<IdParams, unknown, SilenceBody>({
      method: 'POST',
      path: '/v1/alerts/:id/silence',
      role: 'operator',
      summary: 'Silence a rule and subject for receivers until a time; null ends the silence',
      description:
        'Also holds for alerts of the same rule and subject that begin meanwhile. You may set it when this alert is ' +
        'over. Alerts that still fire at its end are sent then. The list shows alerts as before.',
      example: { until: '2027-01-01T06:00:00.000Z' },
      schema: {
        params: PARAMS,
        body: recordSchema({ until: { ...TIMESTAMP_SCHEMA, type: ['string', 'null'] } }),
        response: ALERT_SCHEMA,
      },
      errors: ['alert_not_found', 'store_corrupt', 'validation_failed'],
      audit: 'alert.silence',
      handle: (request) => silence(parts, request),
    }),
  ]
}

async function pageOf({ context }: AlertParts, filter: AlertFilter, page: Page): Promise<object> {
  const rows = await alertsAfter(context.db, filter, page.limit + 1, page.after)
  const silences = await silencesAt(context.db, context.clock.nowMs())
  const labels = await simLabels(
    context,
    rows.map(({ subject }) => subject),
  )
  const record = (row: AlertRow): object =>
    alertRecord(row, silenceOf(row, silences), labels.get(row.subject))
  return pageFrom(page, 'alerts', rows, record, (row) => [row.started_at_ms, row.id])
}

function silenceOf(row: AlertRow, silences: ReadonlyMap<string, SilenceRow>): number | undefined {
  return silences.get(openKey(row.rule, row.subject))?.until_ms
}

async function ack(parts: AlertParts, request: Request<IdParams>): ReturnType<Route['handle']> {
  const { id } = request.params
  return await request.mutate(id, async (transaction) => {
    const tx = parts.context.db.join(transaction)
    const nowMs = Math.floor(parts.context.clock.nowMs())
    const row = await rowOf(tx, id)
    if (row.state === 'resolved') throw alertStateConflict(id)
    const { rule, subject, severity } = row
    transaction.audit({ detail: { rule, subject } })
    transaction.event({ type: 'alert.ack', subject: id, data: { rule, subject, severity } })
    const acked: AlertRow =
      row.acked_by !== null
        ? row
        : { ...row, acked_by: request.principal.name, acked_at_ms: nowMs, updated_at_ms: nowMs }
    if (acked !== row) {
      await ALERTS.put(tx, acked)
      if (row.is_told === 1) await tell(parts, tx, 'alert.acked', acked, nowMs)
    }
    const labels = await simLabels(parts.context, [subject])
    const silenced = silenceOf(acked, await silencesAt(tx, nowMs))
    return { body: alertRecord(acked, silenced, labels.get(subject)) }
  })
}

async function silence(
  parts: AlertParts,
  request: Request<IdParams, unknown, SilenceBody>,
): ReturnType<Route['handle']> {
  const { id } = request.params
  const nowMs = Math.floor(parts.context.clock.nowMs())
  const untilMs = untilOf(request.body, nowMs)
  return await request.mutate(id, async (transaction) => {
    const tx = parts.context.db.join(transaction)
    const row = await rowOf(tx, id)
    const { rule, subject } = row
    const until = untilMs === undefined ? null : timestampFromMs(untilMs)
    transaction.audit({ detail: { rule, subject, until } })
    transaction.event({ type: 'alert.silence', subject: id, data: { rule, subject, until } })
    const key = openKey(rule, subject)
    if (untilMs === undefined) await SILENCES.remove(tx, { open_key: key })
    else await SILENCES.put(tx, { open_key: key, until_ms: untilMs, silenced_by: request.principal.name })
    const labels = await simLabels(parts.context, [subject])
    return { body: alertRecord(row, untilMs, labels.get(subject)) }
  })
}

async function rowOf(tx: Parameters<typeof ALERTS.find>[0], id: string): Promise<AlertRow> {
  const row = await ALERTS.find(tx, { id })
  if (row === undefined) throw alertNotFound(id)
  return row
}

function untilOf({ until }: SilenceBody, nowMs: number): number | undefined {
  if (until === null) return undefined
  const untilMs = msFromTimestamp(until)
  if (untilMs !== undefined && untilMs > nowMs && untilMs <= nowMs + MOST_DAYS * DAY_MS) return untilMs
  const message = `until is ${until}; it has to be a moment to come, within ${MOST_DAYS} days, or null`
  throw validationFailed(message, { details: [{ pointer: '/until', message }] })
}
