import {
  defineError,
  type ErrorDetail,
  type ErrorFactory,
  fieldsRefused,
  type ImsiHash,
  type JsonSchema,
  type MutationTx,
  objectSchema,
  type Route,
  refuseStale,
  route,
  SIM_PARAMS,
  type SubscriberView,
  staleChange,
  sumOctets,
} from '@steeple/contracts'
import { accountsOf } from '../account.ts'
import { type FairUseParts, QUOTA_RESOURCE } from '../parts.ts'
import type { Period } from '../periods.ts'
import { recount } from '../recount.ts'
import { epochNow, putQuotaState, quotaStatesOf } from '../store/quota-state-store.ts'
import { type Action, newQuota, QUOTAS, type QuotaRow, removeQuota } from '../store/quota-store.ts'
import { usedSince } from '../store/used-store.ts'
import { changedPart, tagged, USAGE_SCHEMA, usageRecord } from '../usage-record.ts'
import { BYTES_SCHEMA, knownSim, type SimParams } from './params.ts'

/** A SIM without a quota cannot be topped up. */
const quotaNotSet: ErrorFactory = defineError(
  'quota_not_set',
  409,
  'the SIM %s has no quota that could be topped up; give it one with quota_bytes',
)

interface SetBody {
  readonly quota_bytes: number | null
  readonly period?: Period
  readonly action?: Action
  readonly throttle_bps?: number
}
type QuotaBody = SetBody | { readonly add_bytes: number }

const BODY: JsonSchema = objectSchema({
  quota_bytes: {
    ...BYTES_SCHEMA,
    type: ['integer', 'null'],
    description: 'Bytes of both directions together; null removes the quota.',
  },
  period: {
    type: 'string',
    enum: ['day', 'week', 'month', 'none'],
    description: 'When it starts again, by fairuse.time_zone. none: never. Default: month.',
  },
  action: {
    type: 'string',
    enum: ['suspend', 'throttle', 'alert'],
    description: 'What happens when it is used up. suspend when absent.',
  },
  throttle_bps: {
    type: 'integer',
    minimum: 1_000,
    maximum: 4_000_000_000_000,
    description:
      'For action throttle: the rate that is left, in both directions. fairuse.throttle_bps when absent.',
  },
  add_bytes: {
    ...BYTES_SCHEMA,
    minimum: 1,
    description: 'Alone: granted once more for this period.',
  },
})

/** `POST /v1/sims/{imsi}/quota` */
export function quotaRoute(parts: FairUseParts): Route {
  return route<SimParams, unknown, QuotaBody>({
    method: 'POST',
    path: '/v1/sims/:imsi/quota',
    role: 'operator',
    summary: 'Set, top up or remove the data quota of a SIM',
    description:
      'Setting it again keeps what was used in its period. `add_bytes` grants once more for this period: send an Idempotency-Key with it. The ETag is that of ' +
      '`GET …/usage`, and changes with the quota alone.',
    example: { quota_bytes: 5_000_000_000, period: 'month', action: 'suspend' },
    schema: { params: SIM_PARAMS, body: BODY, response: USAGE_SCHEMA },
    errors: [
      'sim_not_found',
      'sim_state_conflict',
      quotaNotSet.code,
      staleChange.code,
      'validation_failed',
      'store_corrupt',
    ],
    audit: 'sim.quota',
    guarded: true,
    handle: async (request) => {
      const { body } = request
      const { imsi } = request.params
      checkParts(body)
      const ifMatch = request.header('if-match')
      return await request.mutate(imsi, async (tx) => {
        if (ifMatch !== undefined) refuseStale(ifMatch, await changedPart(tx, imsi), `the quota of ${imsi}`)
        const view =
          'add_bytes' in body
            ? await topUp(parts, tx, imsi, body.add_bytes)
            : await setQuota(parts, tx, imsi, body)
        tx.audit({ detail: { ...body } })
        tx.event({ type: 'sim.quota', subject: imsi, data: { ...body } })
        tx.dirty(QUOTA_RESOURCE, imsi, true)
        return await tagged(tx, imsi, await usageRecord(parts, view, tx))
      })
    },
  })
}

/** What of it does not go together. */
function checkParts(body: QuotaBody): void {
  const details: ErrorDetail[] = []
  const hasAdded = 'add_bytes' in body
  if (hasAdded === 'quota_bytes' in body)
    details.push({
      pointer: '/quota_bytes',
      message: 'either quota_bytes or add_bytes is needed, and not both',
    })
  if (hasAdded && Object.keys(body).length > 1)
    details.push({
      pointer: '/add_bytes',
      message: 'goes with nothing else: a top-up keeps period and action',
    })
  if (!hasAdded && body.throttle_bps !== undefined && body.action !== 'throttle')
    details.push({ pointer: '/throttle_bps', message: 'goes with action throttle and with no other' })
  if (details.length > 0) throw fieldsRefused(details)
}

async function topUp(
  parts: FairUseParts,
  tx: MutationTx,
  imsi: ImsiHash,
  addBytes: number,
): Promise<SubscriberView> {
  const account = (await accountsOf(tx, [imsi], parts.clock)).get(imsi)
  if (account === undefined) {
    await knownSim(parts, imsi)
    throw quotaNotSet(imsi)
  }
  const { quota, startMs } = account
  const before = quota.added_from_ms === startMs ? quota.added_bytes : 0
  const added = Math.min(before + addBytes, Number.MAX_SAFE_INTEGER - quota.quota_bytes)
  await QUOTAS.put(tx, { ...quota, added_bytes: added, added_from_ms: startMs })
  return await parts.subscribers.setQuotaIn(tx, imsi, quota.quota_bytes)
}

async function setQuota(
  parts: FairUseParts,
  tx: MutationTx,
  imsi: ImsiHash,
  body: SetBody,
): Promise<SubscriberView> {
  const { subscribers, clock } = parts
  const view = await subscribers.setQuotaIn(tx, imsi, body.quota_bytes ?? undefined)
  if (body.quota_bytes === null) return (await release(parts, tx, imsi)) ?? view
  const before = await QUOTAS.find(tx, { hash: imsi })
  const fresh = newQuota(imsi, body.quota_bytes, clock, body)
  const { quota_bytes, action, throttle_bps } = fresh
  const isSamePeriod = before?.period === fresh.period
  // What a request says; the rest of a quota stays while its period does.
  const quota = isSamePeriod ? { ...before, quota_bytes, action, throttle_bps } : fresh
  await QUOTAS.put(tx, quota)
  if (!isSamePeriod) await beginCounting(parts, tx, quota)
  return view
}

/** What was used of the period before the quota was there counts; of a quota without a period, only what comes. */
async function beginCounting(parts: FairUseParts, tx: MutationTx, quota: QuotaRow): Promise<void> {
  await recount(parts, tx, quota)
  const { hash } = quota
  const quotaState = (await quotaStatesOf(tx, [hash])).get(hash)
  if (quotaState !== undefined) await putQuotaState(tx, { ...quotaState, counted: await epochNow(tx) })
  if (quota.period !== 'none') return
  const rows = (await usedSince(tx, [hash], quota.first_ms)).get(hash) ?? []
  const used = rows.filter(({ kind }) => kind === 'month')
  await QUOTAS.put(tx, {
    ...quota,
    base_up_bytes: sumOctets(...used.map(({ up_bytes }) => up_bytes)),
    base_down_bytes: sumOctets(...used.map(({ down_bytes }) => down_bytes)),
  })
}

/** Without a quota nothing of it keeps the SIM off or slow. The SIM as it is then; undefined when nothing did. */
async function release(
  { context, subscribers }: FairUseParts,
  tx: MutationTx,
  imsi: ImsiHash,
): Promise<SubscriberView | undefined> {
  const held = (await quotaStatesOf(tx, [imsi])).get(imsi)?.held
  await removeQuota(tx, imsi)
  if (held === 'suspend') return await subscribers.resumeIn(tx, imsi, 'quota')
  if (held === 'throttle') return await subscribers.capIn(tx, imsi, undefined, context.config.throttle_reach)
  return undefined
}
