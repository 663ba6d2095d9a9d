import {
  defineError,
  type ErrorFactory,
  fieldRefused,
  forbidden,
  type ImsiHash,
  type JsonSchema,
  objectSchema,
  type Principal,
  type Reply,
  type Request,
  type Route,
  route,
  SIM_PARAMS,
  type SubscriberView,
  TIMESTAMP_SCHEMA,
  type Tx,
  timeField,
  timestampFromMs,
} from '@steeple/contracts'
import { usageImplausible } from '../node-reports.ts'
import type { FairUseParts } from '../parts.ts'
import { type ReportRow, takeReport } from '../store/report-store.ts'
import { AHEAD_MS, REPORT_DAYS, REPORT_MS } from '../sweep.ts'
import { tagged, USAGE_SCHEMA, USAGE_SERIES_SCHEMA, usageRecord } from '../usage-record.ts'
import { BYTES_SCHEMA, knownSim, type SimParams } from './params.ts'

/** A report_id stands for one report: what is sent under it again is the same one. */
const reportIdReused: ErrorFactory = defineError(
  'report_id_reused',
  409,
  'the SIM %s has another usage report with this report_id; take a new one for each report',
)

interface ReportBody {
  readonly up_bytes: number
  readonly down_bytes: number
  readonly at?: string
  readonly source?: string
  readonly report_id: string
}
interface UsageQuery {
  readonly from?: string
  readonly to?: string
  readonly step?: 'hour' | 'day'
}

/** The longest series: so many points are an answer of some 100 kB. */
const LONGEST_MS = { hour: 93 * 86_400_000, day: 800 * 86_400_000 } as const
const BODY: JsonSchema = objectSchema(
  {
    up_bytes: BYTES_SCHEMA,
    down_bytes: BYTES_SCHEMA,
    at: {
      ...TIMESTAMP_SCHEMA,
      description: `When they were used; now when absent. At most ${REPORT_DAYS} days ago.`,
    },
    source: {
      type: 'string',
      // It is kept and shown: nothing as long as an IMSI.
      pattern: '^(?!.*[0-9]{14})[a-z0-9][a-z0-9._-]{0,63}$',
      description:
        'Who counted, with fewer than 14 digits in a row. A node reports under its own id, and may leave this out. ' +
        'Within an hour, sixteen sources of a SIM are kept apart; all others count together as `other`.',
    },
    report_id: {
      type: 'string',
      pattern: '^[!-~]{1,128}$',
      description:
        'The name of this report among those of the SIM. It counts once, however often you send it within ' +
        `${REPORT_DAYS} days.`,
    },
  },
  ['up_bytes', 'down_bytes', 'report_id'],
)

/** Usage as it was counted, and what others report. */
export function usageRoutes(parts: FairUseParts): readonly Route[] {
  return [
    route<SimParams, UsageQuery, unknown>({
      method: 'GET',
      path: '/v1/sims/:imsi/usage',
      role: 'viewer',
      summary: 'Show what a SIM has used of its quota in this period',
      description:
        'With `step` (or `from`, `to`) it has a series, which is of this period when nothing is said.',
      schema: {
        params: SIM_PARAMS,
        query: objectSchema({
          from: TIMESTAMP_SCHEMA,
          to: TIMESTAMP_SCHEMA,
          step: { type: 'string', enum: ['hour', 'day'], description: 'day when absent.' },
        }),
        response: USAGE_SERIES_SCHEMA,
      },
      conditional: true,
      errors: ['sim_not_found', 'validation_failed', 'store_corrupt'],
      handle: async ({ params, query }) => {
        const record = await usageRecord(parts, await knownSim(parts, params.imsi))
        const body = await withSeries(parts, params.imsi, query, record)
        return await tagged(parts.context.db, params.imsi, body)
      },
    }),
    route<SimParams, unknown, ReportBody>({
      method: 'POST',
      path: '/v1/sims/:imsi/usage',
      role: 'operator',
      nodeToo: true,
      summary: 'Report what a SIM has used',
      description:
        'Each `report_id` counts once: send it again until it is answered, in any order. A member of the mesh (role ' +
        'node) reports only sessions behind it: those with an address in a network that is approved for it. It reports ' +
        'at most the bytes that a link of 1 Gbit/s carries since the session began. Anything else is ' +
        '`usage_implausible`, and appears in health and in the audit trail.',
      schema: { params: SIM_PARAMS, body: BODY, response: USAGE_SCHEMA },
      errors: [
        'sim_not_found',
        reportIdReused.code,
        usageImplausible.code,
        'validation_failed',
        'forbidden',
        'store_corrupt',
      ],
      audit: {
        none: 'a report is observed: it is kept under its report_id, and what it brings about is audited',
      },
      handle: (request) => takeIn(parts, request),
    }),
  ]
}

async function takeIn(parts: FairUseParts, request: Request<SimParams, unknown, ReportBody>): Promise<Reply> {
  const { body, principal } = request
  const { imsi } = request.params
  const { context, nodes } = parts
  const view = await knownSim(parts, imsi)
  const atMs = momentOf(body.at, Math.floor(context.clock.nowMs()))
  const report: ReportRow = {
    hash: imsi,
    report_id: body.report_id,
    source: sourceOf(body, principal),
    up_bytes: body.up_bytes,
    down_bytes: body.down_bytes,
    taken_at_ms: atMs,
  }
  if (principal.kind !== 'node') return await take(parts, request, view, report)
  return await nodes.judged(report, principal, async () => {
    const session = await nodes.sessionOf(report, principal)
    return await take(parts, request, view, report, (tx) => nodes.bound(tx, report, session, principal))
  })
}

async function take(
  { ledger, metrics, ...parts }: FairUseParts,
  request: Pick<Request, 'mutate'>,
  view: SubscriberView,
  report: ReportRow,
  judge?: (tx: Tx) => Promise<void>,
): Promise<Reply> {
  const { imsi } = view
  const totals = { upBytes: report.up_bytes, downBytes: report.down_bytes, isIncomplete: false }
  return await request.mutate(imsi, async (tx) => {
    const found = await takeReport(tx, report)
    if (found === 'other') {
      metrics.reported('refused')
      throw reportIdReused(imsi)
    }
    await judge?.(tx)
    if (found === 'new')
      await ledger.submit(tx, imsi, `submission:${report.source}`, totals, report.taken_at_ms)
    tx.afterCommit(() => metrics.reported(found === 'new' ? 'counted' : 'repeated'))
    return { body: await usageRecord({ ...parts, ledger, metrics }, view, tx) }
  })
}

/** A node speaks for itself alone. */
function sourceOf({ source }: ReportBody, principal: Principal): string {
  if (principal.kind !== 'node') return source ?? 'api'
  if (source !== undefined && source !== principal.id) throw forbidden('operator')
  return principal.id
}

/** Older than its report_id would be remembered, a report could count twice. */
function momentOf(at: string | undefined, nowMs: number): number {
  if (at === undefined) return nowMs
  const atMs = timeField('/at', at)
  const message = `must be at most ${REPORT_DAYS} days ago and not ahead`
  if (atMs <= nowMs - REPORT_MS || atMs > nowMs + AHEAD_MS) throw fieldRefused('/at', message)
  return Math.min(atMs, nowMs)
}

async function withSeries(
  { ledger, clock }: FairUseParts,
  imsi: ImsiHash,
  query: UsageQuery,
  record: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  if (Object.keys(query).length === 0) return record
  const { from, to, step = 'day' } = query
  const toMs = to === undefined ? clock.now().atMs + 1 : timeField('/to', to)
  const fromMs = timeField('/from', from ?? String(record.period_start))
  if (fromMs >= toMs) throw fieldRefused('/from', 'must be before to')
  const days = LONGEST_MS[step] / 86_400_000
  if (toMs - fromMs > LONGEST_MS[step])
    throw fieldRefused('/from', `a series by ${step} has at most ${days} days`)
  const series = await ledger.series(imsi, fromMs, toMs, step)
  return {
    ...record,
    series: series.map(({ atMs, upBytes, downBytes, isIncomplete }) => ({
      at: timestampFromMs(atMs),
      up_bytes: upBytes,
      down_bytes: downBytes,
      is_incomplete: isIncomplete,
    })),
  }
}
