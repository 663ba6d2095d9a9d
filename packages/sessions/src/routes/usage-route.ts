import {
  type Context,
  csvLine,
  fieldRefused,
  type JsonSchema,
  objectSchema,
  type Reader,
  type Route,
  recordSchema,
  route,
  simLabels,
  TIMESTAMP_SCHEMA,
  timeField,
  timestampFromMs,
  type UsageLedger,
} from '@steeple/contracts'
import { bestOf, volumesFromText } from '../join/session.ts'
import type { SourceOrder } from '../ledger/counting.ts'
import type { LocalHours } from '../ledger/hours.ts'
import { countingOff, exact, octets } from '../usage-ledger.ts'

interface UsageQuery {
  readonly period?: 'today' | 'week' | 'month'
  readonly from?: string
  readonly to?: string
  readonly sort?: 'total' | 'up' | 'down'
  readonly limit?: number
}

const DAY_MS = 86_400_000
/** Longer ago nobody asks who uses most now, and each hour of each SIM is a row. */
const LONGEST_MS = 93 * DAY_MS
/** Up to so long there is a point for each hour. */
const HOURLY_MS = 2 * DAY_MS
const DAYS = { today: 1, week: 7, month: 30 } as const
const TOP = 20
const MOST = 500

const BYTES: JsonSchema = { type: 'integer', minimum: 0 }
const TOTALS = { up_bytes: BYTES, down_bytes: BYTES, total_bytes: BYTES }
const POINT = recordSchema({ at: TIMESTAMP_SCHEMA, ...TOTALS })

const RESPONSE = recordSchema({
  from: TIMESTAMP_SCHEMA,
  to: TIMESTAMP_SCHEMA,
  ...TOTALS,
  is_incomplete: { type: 'boolean', description: 'Some bytes may be missing.' },
  counted_until: { type: ['string', 'null'], description: 'Null while nothing has counted bytes.' },
  is_measured: {
    type: 'boolean',
    description: 'Whether something counts the bytes of phones here.',
  },
  step: { type: 'string', description: 'hour or day: what a point of the series stands for.' },
  series: { type: 'array', items: POINT, description: 'Hours or days in which bytes were counted.' },
  busiest_hour: {
    anyOf: [POINT, { type: 'null' }],
    description: 'The hour with most bytes of all SIMs.',
  },
  sims_count: { type: 'integer', minimum: 0, description: 'SIMs that have used anything.' },
  sims: {
    type: 'array',
    items: recordSchema({
      imsi_sha256_12: { type: 'string' },
      label: { type: ['string', 'null'] },
      ...TOTALS,
    }),
    description: 'Those that have used most, most first.',
  },
  apns: {
    type: 'array',
    items: recordSchema({ apn: { type: 'string' }, ...TOTALS }),
    description: 'What sessions have carried that began in this time, by APN, most first.',
  },
})

const QUERY = {
  period: {
    type: 'string',
    enum: Object.keys(DAYS),
    description:
      'today (when nothing is said), or the last 7 or 30 days up to today, by the time zone of the box.',
  },
  from: { ...TIMESTAMP_SCHEMA, description: 'Instead of a period; counts from the hour that this is in.' },
  to: { ...TIMESTAMP_SCHEMA, description: 'Now when absent.' },
  sort: { type: 'string', enum: ['total', 'up', 'down'], description: 'total when absent.' },
} as const
const LIMIT: JsonSchema = {
  type: 'integer',
  minimum: 1,
  maximum: MOST,
  description: `SIMs in the answer; ${TOP} when absent.`,
}

interface UsageParts {
  readonly context: Context
  readonly order: SourceOrder
  readonly hours: LocalHours
  readonly ledger: Pick<UsageLedger, 'knownUntil'>
}

/** A span of time in whole hours of the ledger, ms since the epoch. */
interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/** `GET /v1/usage` and `GET /v1/usage/export`: who uses how much. */
export function usageRoutes(parts: UsageParts): readonly Route[] {
  return [
    route<unknown, UsageQuery, unknown>({
      method: 'GET',
      path: '/v1/usage',
      role: 'viewer',
      summary: 'Show how much all SIMs have used, when, and who used most',
      description:
        'Today when you name no time. Bytes are those of the usage ledger, counted once, as for quotas. The longest time is 93 days.',
      schema: { query: objectSchema({ ...QUERY, limit: LIMIT }), response: RESPONSE },
      conditional: true,
      errors: ['validation_failed'],
      handle: async ({ query }) => ({ body: await usageBody(parts, query) }),
    }),
    route<unknown, UsageQuery, unknown>({
      method: 'GET',
      path: '/v1/usage/export',
      role: 'viewer',
      summary: 'Get what each SIM has used, as CSV',
      description: 'One line for each SIM that has used anything, most first. Today when you name no time.',
      schema: { query: objectSchema(QUERY) },
      produces: ['text/csv'],
      errors: ['validation_failed'],
      handle: async ({ query }) => {
        const span = spanOf(parts, query)
        return {
          headers: {
            'content-type': 'text/csv; charset=utf-8',
            'content-disposition': `attachment; filename="usage-${timestampFromMs(span.fromMs).slice(0, 10)}.csv"`,
          },
          stream: csv(parts, span, query.sort ?? 'total'),
        }
      },
    }),
  ]
}

/** The hours that are asked for. Throws `validation_failed`. */
function spanOf({ context, hours }: UsageParts, { period, from, to }: UsageQuery): Span {
  const nowMs = Math.floor(context.clock.nowMs())
  if (period !== undefined && (from !== undefined || to !== undefined))
    throw fieldRefused('/period', 'is a time already: leave out from and to')
  const toMs = to === undefined ? hours.nextHour(nowMs) : timeField('/to', to)
  // Days have 23 to 25 hours: noon of that day is in it.
  const days = DAYS[period ?? 'today'] - 1
  const fromMs =
    from === undefined
      ? hours.dayOf(hours.dayOf(nowMs) + DAY_MS / 2 - days * DAY_MS)
      : hours.hourOf(timeField('/from', from))
  if (fromMs >= toMs) throw fieldRefused('/from', 'must be before to')
  if (toMs - fromMs > LONGEST_MS) throw fieldRefused('/from', 'must be at most 93 days before to')
  return { fromMs, toMs }
}

const [UP, DOWN] = [octets('counted_up'), octets('counted_down')]
const SUMS = `${UP} as up, ${DOWN} as down`
const RANGE = 'from sessions_ledger where hour_ms >= :from_ms and hour_ms < :to_ms'
const BY_HOUR = `select hour_ms, ${SUMS}, sum(counted_incomplete) as open ${RANGE} group by hour_ms order by hour_ms`
const ORDERS = { total: `${UP} + ${DOWN}`, up: UP, down: DOWN } as const
const COUNT = `select count(distinct imsi) as sims ${RANGE} and counted_up + counted_down > 0`
/** Prepared by their text: one for each order. */
const topBy = (sort: keyof typeof ORDERS): string =>
  `select imsi, ${SUMS} ${RANGE} group by imsi having ${ORDERS.total} > 0 order by ${ORDERS[sort]} desc, imsi limit :limit offset :skip`

interface Sums {
  readonly up: number | string
  readonly down: number | string
}
interface HourSums extends Sums {
  readonly hour_ms: number | string
  readonly open: number | string
}

async function usageBody(parts: UsageParts, query: UsageQuery): Promise<object> {
  const span = spanOf(parts, query)
  const { context, ledger } = parts
  const params = { from_ms: span.fromMs, to_ms: span.toMs }
  const [byHour, top, count, apns] = await Promise.all([
    context.db.all<HourSums>(BY_HOUR, params),
    topOf(context.db, span, query.sort ?? 'total', query.limit ?? TOP, 0),
    context.db.get<{ readonly sims: number }>(COUNT, params),
    apnsOf(parts, span),
  ])
  const labels = await simLabels(
    context,
    top.map(({ imsi }) => imsi),
  )
  const step = span.toMs - span.fromMs > HOURLY_MS ? 'day' : 'hour'
  const { atMs } = ledger.knownUntil()
  return {
    from: timestampFromMs(span.fromMs),
    to: timestampFromMs(span.toMs),
    ...totalsOf(byHour),
    is_incomplete: byHour.some(({ open }) => Number(open) > 0),
    counted_until: atMs === undefined ? null : timestampFromMs(atMs),
    is_measured: atMs !== undefined || countingOff(context.settings) === undefined,
    step,
    series: seriesOf(byHour, (ms) => (step === 'day' ? parts.hours.dayOf(ms) : ms)),
    busiest_hour: seriesOf(byHour, (ms) => ms).reduce<Point | null>(
      (most, one) => (one.total_bytes > (most?.total_bytes ?? 0) ? one : most),
      null,
    ),
    sims_count: Number(count?.sims ?? 0),
    sims: top.map((one) => ({
      imsi_sha256_12: one.imsi,
      label: labels.get(one.imsi) ?? null,
      ...totalsOf([one]),
    })),
    apns,
  }
}

interface Point extends ReturnType<typeof totalsOf> {
  readonly at: string
}

function seriesOf(rows: readonly HourSums[], startOf: (hourMs: number) => number): readonly Point[] {
  return [...Map.groupBy(rows, ({ hour_ms }) => startOf(Number(hour_ms)))].map(([atMs, group]) => ({
    at: timestampFromMs(atMs),
    ...totalsOf(group),
  }))
}

function totalsOf(rows: readonly Sums[]): {
  readonly up_bytes: number
  readonly down_bytes: number
  readonly total_bytes: number
} {
  const sumOf = (name: keyof Sums): number => exact(rows.reduce((sum, row) => sum + Number(row[name]), 0))
  const [up, down] = [sumOf('up'), sumOf('down')]
  return { up_bytes: up, down_bytes: down, total_bytes: exact(up + down) }
}

function topOf(
  reader: Reader,
  { fromMs, toMs }: Span,
  sort: keyof typeof ORDERS,
  limit: number,
  skip: number,
): Promise<readonly (Sums & { readonly imsi: string })[]> {
  return reader.all(topBy(sort), { from_ms: fromMs, to_ms: toMs, limit, skip })
}

/** As many sessions are looked at, the newest: each is a row with JSON. */
const MOST_SESSIONS = 50_000
const SESSIONS_OF = `select apn, volumes from sessions_session
  where started_at_ms >= :from_ms and started_at_ms < :to_ms order by id desc limit ${MOST_SESSIONS}`

/** What sessions have carried that began in a span, by APN. */
async function apnsOf({ context, order }: UsageParts, { fromMs, toMs }: Span): Promise<readonly object[]> {
  const sums = new Map<string, { up: number; down: number }>()
  const rows = await context.db.all<{ readonly apn: string; readonly volumes: string }>(SESSIONS_OF, {
    from_ms: fromMs,
    to_ms: toMs,
  })
  for (const { apn, volumes } of rows) {
    const { up, down } = bestOf(volumesFromText(volumes), order)
    const sum = sums.get(apn) ?? { up: 0, down: 0 }
    sums.set(apn, { up: sum.up + up, down: sum.down + down })
  }
  return [...sums]
    .map(([apn, sum]) => ({ apn, ...totalsOf([sum]) }))
    .toSorted((one, other) => other.total_bytes - one.total_bytes || one.apn.localeCompare(other.apn))
}

const COLUMNS = ['imsi_sha256_12', 'label', ...Object.keys(TOTALS)]

async function* csv({ context }: UsageParts, span: Span, sort: keyof typeof ORDERS): AsyncGenerator<string> {
  yield csvLine(COLUMNS)
  for (let skip = 0; ; skip += MOST) {
    const rows = await topOf(context.db, span, sort, MOST, skip)
    const labels = await simLabels(
      context,
      rows.map(({ imsi }) => imsi),
    )
    for (const row of rows) {
      yield csvLine([row.imsi, labels.get(row.imsi), ...Object.values(totalsOf([row]))])
    }
    if (rows.length < MOST) return
  }
}
