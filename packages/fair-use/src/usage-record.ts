import {
  changeTag,
  type ImsiHash,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  type Reader,
  type Reply,
  recordSchema,
  type SubscriberView,
  sumOctets,
  TIMESTAMP_SCHEMA,
  type Tx,
  timestampFromMs,
  timestampOrNull,
  type UsageTotals,
} from '@steeple/contracts'
import { type Account, accountsOf } from './account.ts'
import { type FairUseParts, termsOf } from './parts.ts'
import { throttleBpsOf, wantedHold } from './steps.ts'
import { quotasOf } from './store/quota-store.ts'

const BYTES: JsonSchema = { type: 'integer' }
const NULLABLE_BYTES: JsonSchema = { type: ['integer', 'null'] }
const NULLABLE_TEXT: JsonSchema = { type: ['string', 'null'] }
const SOURCE: JsonSchema = recordSchema({
  up_bytes: BYTES,
  down_bytes: BYTES,
  is_incomplete: { type: 'boolean' },
})

const PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  imsi_sha256_12: { type: 'string' },
  up_bytes: BYTES,
  down_bytes: BYTES,
  total_bytes: BYTES,
  quota_bytes: { ...NULLABLE_BYTES, description: 'The allowance of a period.' },
  added_bytes: { ...BYTES, description: 'Granted once more for this period.' },
  remaining_bytes: {
    ...NULLABLE_BYTES,
    description: 'Of the quota and what was added; null without a quota.',
  },
  over_quota: { type: 'boolean' },
  overridden: {
    type: 'boolean',
    description: 'An operator lets the SIM go on for this period although its quota is used up.',
  },
  period: { type: 'string', description: 'day, week, month or none; more may come.' },
  period_start: TIMESTAMP_SCHEMA,
  period_end: NULLABLE_TIMESTAMP_SCHEMA,
  time_zone: { type: 'string', description: 'By which the periods begin.' },
  action: {
    ...NULLABLE_TEXT,
    description: 'suspend, throttle or alert when it is used up; null without a quota.',
  },
  throttle_bps: {
    ...NULLABLE_BYTES,
    description:
      'The rate that the quota itself has for action throttle; null where fairuse.throttle_bps holds.',
  },
  enforcement: {
    type: 'string',
    description:
      'none; pending; suspended; throttled; alert_only: nobody suspends it when its quota is used up, since fairuse.enabled is false; more may come.',
  },
  throttle: {
    type: ['object', 'null'],
    additionalProperties: false,
    required: ['bps', 'state'],
    properties: {
      bps: BYTES,
      state: {
        type: 'string',
        description:
          'Whether the phone has that rate: pending (the HSS is to be told), next_session (a session that runs keeps the old rate), in_force; more may come.',
      },
    },
    description: 'The rate that the SIM is held to in both directions; null while its AMBR holds.',
  },
  is_incomplete: { type: 'boolean', description: 'Some bytes of this period may be missing.' },
  known_until: {
    ...NULLABLE_TIMESTAMP_SCHEMA,
    description: 'Up to when all usage is known; null while no collector has counted any.',
  },
  unknown_reason: {
    ...NULLABLE_TEXT,
    description:
      'Why later usage is not known; null while it is, and before the first byte of a box that counts.',
  },
  updated_at: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'When usage was last counted against the quota.' },
  by_source: { type: 'object', additionalProperties: SOURCE, description: 'What each source saw.' },
}

export const USAGE_SCHEMA: JsonSchema = recordSchema(PROPERTIES)

const POINT: JsonSchema = recordSchema({
  at: TIMESTAMP_SCHEMA,
  up_bytes: BYTES,
  down_bytes: BYTES,
  is_incomplete: { type: 'boolean' },
})

/** The same with a series, where one is asked for. */
export const USAGE_SERIES_SCHEMA: JsonSchema = objectSchema(
  { ...PROPERTIES, series: { type: 'array', items: POINT } },
  Object.keys(PROPERTIES),
)

/** The usage record of a SIM: within a transaction with what that has changed. */
export async function usageRecord(
  parts: FairUseParts,
  view: SubscriberView,
  tx?: Tx,
): Promise<Readonly<Record<string, unknown>>> {
  const { context, clock, ledger } = parts
  const reader = tx === undefined ? context.db : context.db.join(tx)
  const account = (await accountsOf(reader, [view.imsi], clock)).get(view.imsi)
  const { atMs } = clock.now()
  const span = account ?? clock.calendar.spanOf('month', atMs)
  const endMs = span.endMs ?? Math.max(atMs, span.startMs) + 1
  const seen =
    tx === undefined
      ? await ledger.totals(view.imsi, span.startMs, endMs)
      : await ledger.totalsIn(tx, view.imsi, span.startMs, endMs)
  const upBytes = account?.upBytes ?? seen.upBytes
  const downBytes = account?.downBytes ?? seen.downBytes
  const known = ledger.knownUntil()
  return {
    imsi_sha256_12: view.imsi,
    up_bytes: upBytes,
    down_bytes: downBytes,
    total_bytes: sumOctets(upBytes, downBytes),
    ...quotaPart(account),
    period: account?.quota.period ?? 'month',
    period_start: timestampFromMs(span.startMs),
    period_end: timestampOrNull(span.endMs ?? null),
    time_zone: clock.calendar.timeZone,
    enforcement: enforcementOf(parts, view, account),
    throttle: view.capBps === undefined ? null : { bps: view.capBps, state: view.rates },
    is_incomplete: seen.isIncomplete || account?.isIncomplete === true,
    known_until: timestampOrNull(known.atMs ?? null),
    unknown_reason: known.reason ?? null,
    updated_at: timestampOrNull(account?.updatedAtMs ?? null),
    by_source: Object.fromEntries([...seen.bySource].map(([source, totals]) => [source, sourceOf(totals)])),
  }
}

/** What of the quota of a SIM people change, for `changeTag`: not what is used of it. */
export async function changedPart(reader: Reader, imsi: ImsiHash): Promise<readonly unknown[]> {
  const quota = (await quotasOf(reader, [imsi])).get(imsi)
  if (quota === undefined) return []
  const { quota_bytes, period, action, throttle_bps, added_bytes, added_from_ms } = quota
  return [quota_bytes, period, action, throttle_bps, added_bytes, added_from_ms]
}

/** An answer with the tag that `POST …/quota` is guarded by. */
export async function tagged(
  reader: Reader,
  imsi: ImsiHash,
  body: Readonly<Record<string, unknown>>,
): Promise<Reply> {
  return { body, headers: { etag: changeTag(await changedPart(reader, imsi), body) } }
}

function quotaPart(account: Account | undefined): Readonly<Record<string, unknown>> {
  const quota = account?.quota
  const limitBytes = account?.limitBytes ?? 0
  const isOver = account?.isOver === true
  return {
    quota_bytes: quota?.quota_bytes ?? null,
    added_bytes: limitBytes - (quota?.quota_bytes ?? 0),
    remaining_bytes: account === undefined ? null : Math.max(0, limitBytes - account.usedBytes),
    over_quota: isOver,
    overridden: isOver && account.isFree,
    action: quota?.action ?? null,
    throttle_bps: quota?.throttle_bps ?? null,
  }
}

function enforcementOf(parts: FairUseParts, view: SubscriberView, account: Account | undefined): string {
  if (view.state === 'suspended' && view.suspendReason === 'quota') return 'suspended'
  const terms = termsOf(parts)
  // Known before it is used up: nobody is to rely on what will not come.
  if (account?.quota.action === 'suspend' && !terms.isEnabled) return 'alert_only'
  const wanted = account === undefined ? undefined : wantedHold(account)
  if (account === undefined || wanted === undefined) return view.capBps === undefined ? 'none' : 'throttled'
  if (wanted === 'throttle') return view.capBps === throttleBpsOf(account, terms) ? 'throttled' : 'pending'
  // Whom somebody else keeps off needs nothing more.
  return view.state === 'issued' || view.state === 'in-use' ? 'pending' : 'none'
}

function sourceOf({ upBytes, downBytes, isIncomplete }: UsageTotals): Readonly<Record<string, unknown>> {
  return { up_bytes: upBytes, down_bytes: downBytes, is_incomplete: isIncomplete }
}
