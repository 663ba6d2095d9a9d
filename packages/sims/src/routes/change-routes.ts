import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  changeTag,
  type ErrorDetail,
  fieldRefused,
  fieldsRefused,
  forbidden,
  type ImsiHash,
  isServiceError,
  type JsonSchema,
  type MutationTx,
  msFromTimestamp,
  objectSchema,
  ok,
  type Reply,
  type Request,
  type Role,
  type Route,
  recordSchema,
  refuseStale,
  route,
  SIM_PARAMS,
  simStateConflict,
  staleChange,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'
import { apnProblems, EXPIRY_RULE, isExpiry } from '../issue/draw-sims.ts'
import { policyApns } from '../issue/issue.ts'
import { APNS_SCHEMA, BPS_SCHEMA, NAME_SCHEMA } from '../issue/issue-schema.ts'
import { RATES_RESOURCE, SIM_RESOURCE, type SimsParts } from '../parts.ts'
import { changedPart, recordOf, SIM_SCHEMA } from '../record.ts'
import { type Changed, refuseUnwritten, transitionSim, unsynced, wantedInHss } from '../states/change.ts'
import { apnsOf, SIMS, type SimFilter, type SimRow, simOf } from '../store/sim-store.ts'
import { replaceWords } from '../store/word-store.ts'
import { type BulkChange, KINDS, outlookOf } from './bulk-outlook.ts'
import { FILTER_PROPERTIES, filterFrom, matchingHashes } from './filter.ts'
import type { SimParams } from './read-routes.ts'
import { attachedAmong, WAIT_SCHEMA, type WaitQuery, waitMsOf, watch } from './state-routes.ts'

type BulkAction = BulkChange['action']
interface BulkBody extends Omit<BulkChange, 'expiresAtMs'> {
  readonly ids?: readonly ImsiHash[]
  readonly filter?: SimFilter
  readonly limit?: number
  readonly after?: string
  readonly reason?: string
  readonly expires_at?: string
  readonly dry_run?: boolean
}
interface BulkResult {
  readonly imsi_sha256_12: ImsiHash
  readonly status: 'changed' | 'unchanged' | 'error'
  readonly state: string | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** SIMs of one bulk change. */
const MOST = 10_000
const CHUNK = 250
/** The role of each action is that of its own route; labels and expiries are the issuer's. */
const ROLES: Readonly<Record<BulkAction, Role>> = {
  suspend: 'operator',
  resume: 'operator',
  revoke: 'sim:admin',
  label: 'sim:issuer',
  extend: 'sim:issuer',
}
const HASH: JsonSchema = { type: 'string', pattern: '^[0-9a-f]{12}$' }

const BODY: JsonSchema = objectSchema(
  {
    action: { type: 'string', enum: Object.keys(ROLES) },
    ids: {
      type: 'array',
      minItems: 1,
      maxItems: MOST,
      uniqueItems: true,
      items: HASH,
    },
    filter: objectSchema(FILTER_PROPERTIES, [], { minProperties: 1 }),
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: MOST,
      description: 'With filter: at most so many SIMs of it, by hash; next says where the rest begins.',
    },
    after: {
      ...HASH,
      description: 'With filter: the next of the answer before. SIMs up to it are left out.',
    },
    label: { ...NAME_SCHEMA, type: ['string', 'null'], description: 'For action label; null removes it.' },
    reason: { ...NAME_SCHEMA, maxLength: 256 },
    override: { type: 'boolean', description: 'For action resume: also when the quota is used up.' },
    expires_at: {
      ...TIMESTAMP_SCHEMA,
      description:
        'For action extend. A SIM that expires later keeps its expiry; one that has expired is what it was before.',
    },
    dry_run: {
      type: 'boolean',
      description: 'Changes nothing: the answer says how many SIMs would change, and which would not.',
    },
  },
  ['action'],
)
const REPORT: JsonSchema = recordSchema({
  matched: { type: 'integer', description: 'SIMs that are meant; with limit, of this part.' },
  changed: { type: 'integer' },
  unchanged: { type: 'integer' },
  failed: { type: 'integer' },
  attached: {
    type: 'integer',
    description: 'Phones of changed SIMs that were on when they were suspended or revoked.',
  },
  detached: {
    type: ['integer', 'null'],
    description: 'How many of these are off by now; null when the answer has not waited for them.',
  },
  next: {
    type: ['string', 'null'],
    description: 'With limit: the after of the next request; null when no SIM of the filter is left.',
  },
  kinds: KINDS,
  results: {
    type: 'array',
    items: recordSchema({
      imsi_sha256_12: { type: 'string' },
      status: { type: 'string', description: 'changed, unchanged or error; more may come.' },
      state: { type: ['string', 'null'] },
      error: {
        type: ['object', 'null'],
        additionalProperties: false,
        required: ['code', 'message'],
        properties: { code: { type: 'string' }, message: { type: 'string' } },
      },
    }),
  },
})

/** `POST /v1/sims/bulk` */
export function bulkRoute(parts: SimsParts): Route {
  // What a filter found, for the limit: it is asked for when the handler has looked.
  const found = new WeakMap<object, number>()
  return route<unknown, WaitQuery, BulkBody>({
    method: 'POST',
    path: '/v1/sims/bulk',
    role: 'viewer',
    example: { action: 'suspend', filter: { label: 'harbour' } },
    summary: 'Change many SIMs at once',
    description:
      'One transaction for at most 10,000 SIMs, with a report on each. A filter that means more goes in parts, by limit and ' +
      'after. The wait comes after it: for phones that were attached, and after a resume for the HSS. You need the role of ' +
      'the action: operator for suspend and resume, sim:admin for revoke (which counts against sim_revoke), sim:issuer for ' +
      'label and extend.',
    schema: { query: objectSchema({ wait: WAIT_SCHEMA }), body: BODY, response: REPORT },
    errors: ['validation_failed', 'forbidden', 'rate_limited', 'southbound_unavailable', 'store_corrupt'],
    audit: 'sim.bulk',
    rateLimit: {
      name: 'sim_revoke',
      cost: (body: BulkBody) => (body.action === 'revoke' ? (found.get(body) ?? body.ids?.length ?? 1) : 0),
    },
    handle: async (request) => {
      const { body } = request
      const role = ROLES[body.action]
      found.set(body, 0)
      // The refusal is audited with the mutation.
      if (!request.principal.roles.has(role))
        return await request.mutate(`sims:${body.action}`, async () => {
          throw forbidden(role)
        })
      checkParts(parts, body)
      if (body.dry_run === true) return ok(await dryRun(parts, body))
      const { ids, next } = await idsOf(parts, body)
      found.set(body, ids.length)
      const reply = await change(parts, request, ids)
      return { ...reply, body: { ...Object(reply.body), next } }
    },
  })
}

function checkParts({ context }: SimsParts, body: BulkBody): void {
  const details: ErrorDetail[] = []
  if ((body.ids === undefined) === (body.filter === undefined))
    details.push({ pointer: '/ids', message: 'either ids or filter is needed, and not both' })
  for (const name of ['limit', 'after'] as const)
    if (body[name] !== undefined && body.filter === undefined)
      details.push({ pointer: `/${name}`, message: 'goes with filter' })
  for (const [name, action] of [
    ['label', 'label'],
    ['expires_at', 'extend'],
  ] as const)
    if ((body.action === action) !== (body[name] !== undefined))
      details.push({ pointer: `/${name}`, message: `goes with action ${action} and with no other` })
  if (body.expires_at !== undefined && !isExpiry(msFromTimestamp(body.expires_at), context.clock.nowMs()))
    details.push({ pointer: '/expires_at', message: EXPIRY_RULE })
  if (details.length > 0) throw fieldsRefused(details)
}

function changeOf({ action, label, override, expires_at: until = '' }: BulkBody): BulkChange {
  return { action, label, override, expiresAtMs: msFromTimestamp(until) }
}

/** Of all that is meant, however many they are. */
async function dryRun(parts: SimsParts, body: BulkBody): Promise<object> {
  const { ids, filter, limit = Number.MAX_SAFE_INTEGER, after } = body
  const meant = ids ?? (await matchingHashes(parts, filterFrom(filter ?? {}), limit, after))
  const outlook = await outlookOf(parts, changeOf(body), meant)
  return { matched: meant.length, ...outlook, detached: null, next: null, results: [] }
}

/** The SIMs of this request, and behind which the next one goes on; null when there is none. */
async function idsOf(
  parts: SimsParts,
  { ids, filter, limit, after }: BulkBody,
): Promise<{ readonly ids: readonly ImsiHash[]; readonly next: string | null }> {
  if (ids !== undefined) return { ids, next: null }
  const most = limit ?? MOST
  const found = await matchingHashes(parts, filterFrom(filter ?? {}), most + 1, after)
  if (found.length <= most) return { ids: found, next: null }
  if (limit !== undefined) return { ids: found.slice(0, most), next: found[most - 1] ?? null }
  throw fieldRefused('/filter', `matches more than ${MOST} SIMs; narrow it, or set limit`)
}

async function change(
  parts: SimsParts,
  request: Request<unknown, WaitQuery, BulkBody>,
  ids: readonly ImsiHash[],
): Promise<Reply> {
  const { body, signal } = request
  const { action } = body
  const isCut = action === 'suspend' || action === 'revoke'
  const waitMs = waitMsOf(request.query)
  const on = attachedAmong(parts, isCut ? ids : [])
  const cuts = watch(parts.detaches, [...on], waitMs, signal)
  const isPushed = action === 'resume' && parts.hss.driver() !== undefined
  const pushes = watch(parts.pushes, isPushed ? ids : [], waitMs, signal)
  let changed: readonly ImsiHash[] = []
  let off: readonly ImsiHash[] = []
  try {
    const reply = await request.mutate(`sims:${action}`, async (tx) => {
      const results: BulkResult[] = []
      const step = changeOf(body)
      for (const hash of ids) {
        results.push(await one(parts, tx, hash, step))
        // Requests that only read go on meanwhile.
        if (results.length % CHUNK === 0) await nextTurn()
      }
      const those = (status: BulkResult['status']): readonly BulkResult[] =>
        results.filter((result) => result.status === status)
      const totals = {
        matched: ids.length,
        changed: those('changed').length,
        unchanged: those('unchanged').length,
        failed: those('error').length,
      }
      changed = those('changed').map((result) => result.imsi_sha256_12)
      off = changed.filter((hash) => on.has(hash))
      const until = body.expires_at === undefined ? {} : { expires_at: body.expires_at }
      tx.audit({ detail: { action, reason: body.reason ?? null, ...until, ...totals, ids: changed } })
      tx.event({ type: 'sim.bulk', subject: `sims:${action}`, data: { action, ...totals } })
      return { body: { ...totals, attached: off.length, detached: null, next: null, kinds: [], results } }
    })
    if (waitMs === 0) return reply
    await pushes.ends(changed)
    const ends = await cuts.ends(off)
    const detached = ends.filter((how) => how === 'yes' || how === 'not_attached').length
    return { ...reply, body: { ...Object(reply.body), detached } }
  } finally {
    cuts.end()
    pushes.end()
  }
}

async function one(
  parts: SimsParts,
  tx: MutationTx,
  hash: ImsiHash,
  change: BulkChange,
): Promise<BulkResult> {
  try {
    const { before, after } = await applied(parts, tx, hash, change)
    const status = before === after ? 'unchanged' : 'changed'
    return { imsi_sha256_12: hash, status, state: after.state, error: null }
  } catch (error) {
    if (!isServiceError(error) || error.status >= 500) throw error
    const { code, message } = error
    return { imsi_sha256_12: hash, status: 'error', state: null, error: { code, message } }
  }
}

function applied(parts: SimsParts, tx: MutationTx, hash: string, change: BulkChange): Promise<Changed> {
  if (change.action === 'label') return relabel(tx, hash, change.label ?? null)
  if (change.action === 'extend') return extend(parts, tx, hash, change.expiresAtMs ?? 0)
  return transitionSim(parts, tx, hash, { action: change.action, override: change.override })
}

/** Has a SIM expire later, never earlier. Throws `sim_not_found`, `sim_state_conflict`. */
async function extend(parts: SimsParts, tx: MutationTx, hash: string, untilMs: number): Promise<Changed> {
  const before = await simOf(tx, hash)
  if (before.state === 'revoked') throw simStateConflict(`the SIM ${hash} is revoked; it cannot expire later`)
  if (before.expires_at_ms >= untilMs) return { before, after: before }
  const after = { ...before, expires_at_ms: untilMs }
  await SIMS.put(tx, after)
  if (before.state !== 'expired') return { before, after }
  return { before, after: (await transitionSim(parts, tx, hash, { action: 'unexpire' })).after }
}

/** Gives a SIM another label. Throws `sim_not_found`. */
async function relabel(tx: MutationTx, hash: string, label: string | null): Promise<Changed> {
  const before = await simOf(tx, hash)
  if (before.label === label) return { before, after: before }
  const after = { ...before, label }
  await SIMS.put(tx, after)
  await replaceWords(tx, after)
  return { before, after }
}

const LABEL_BODY: JsonSchema = recordSchema({
  label: { ...NAME_SCHEMA, type: ['string', 'null'], description: 'null removes it.' },
})

/** `POST /v1/sims/{imsi}/label` */
export function labelRoute(parts: SimsParts): Route {
  return route<SimParams, unknown, { readonly label: string | null }>({
    method: 'POST',
    path: '/v1/sims/:imsi/label',
    role: 'sim:issuer',
    summary: 'Give a SIM a label, to find it again',
    description: 'A text for people: a name, a place, a shelf. null takes it away.',
    schema: { params: SIM_PARAMS, body: LABEL_BODY, response: SIM_SCHEMA },
    errors: ['sim_not_found', staleChange.code, 'store_corrupt'],
    audit: 'sim.label',
    guarded: true,
    // A label may be a person's name, which the trail has no need of.
    handle: (request) =>
      guarded(parts, request, 'sim.label', {}, (tx, hash) => relabel(tx, hash, request.body.label)),
  })
}

interface SubscriptionBody {
  readonly apns?: readonly string[]
  readonly downlink_bps?: number
  readonly uplink_bps?: number
}

const SUBSCRIPTION_BODY: JsonSchema = objectSchema(
  {
    apns: { ...APNS_SCHEMA, description: "All that it has from now on, each one of the policy's." },
    downlink_bps: BPS_SCHEMA,
    uplink_bps: BPS_SCHEMA,
  },
  [],
  { minProperties: 1 },
)

/** `POST /v1/sims/{imsi}/subscription` */
export function subscriptionRoute(parts: SimsParts): Route {
  return route<SimParams, unknown, SubscriptionBody>({
    method: 'POST',
    path: '/v1/sims/:imsi/subscription',
    role: 'sim:issuer',
    example: { apns: ['internet'] },
    summary: 'Change the APNs and the speed of a SIM',
    description:
      'What the body does not say stays. The HSS is told at once and no phone is disconnected: it gets other APNs when it registers ' +
      'next, another speed with its next session.',
    schema: { params: SIM_PARAMS, body: SUBSCRIPTION_BODY, response: SIM_SCHEMA },
    errors: ['validation_failed', 'sim_not_found', 'sim_state_conflict', staleChange.code, 'store_corrupt'],
    audit: 'sim.subscription',
    guarded: true,
    handle: (request) =>
      guarded(parts, request, 'sim.subscription', request.body, (tx, hash) =>
        resubscribe(parts, tx, hash, request.body),
      ),
  })
}

/** Changes a SIM that is still as the request has read it. `facts`: for the audit trail. */
async function guarded<Body>(
  parts: SimsParts,
  request: Request<SimParams, unknown, Body>,
  type: string,
  facts: object,
  work: (tx: MutationTx, hash: ImsiHash) => Promise<Changed>,
): Promise<Reply> {
  const { imsi: hash } = request.params
  return await request.mutate(hash, async (tx) => {
    const { before, after } = await work(tx, hash)
    refuseStale(request.header('if-match'), changedPart(before), `the SIM ${hash}`)
    tx.audit({ detail: { is_changed: before !== after, ...facts } })
    tx.event({ type, subject: hash, data: {} })
    const body = await recordOf(parts, after, tx)
    return { body, headers: { etag: changeTag(changedPart(after), body) } }
  })
}

/** Gives a SIM other APNs or rates. Throws `sim_not_found`, `sim_state_conflict`, `validation_failed`. */
async function resubscribe(
  parts: SimsParts,
  tx: MutationTx,
  hash: string,
  { apns, ...rates }: SubscriptionBody,
): Promise<Changed> {
  const before = await simOf(tx, hash)
  if (before.state === 'revoked') throw simStateConflict(`the SIM ${hash} is revoked; issue another one`)
  // One that was taken over may have an APN that the policy does not name.
  const [problem] = apnProblems(apns ?? [], [...new Set([...policyApns(parts), ...apnsOf(before)])])
  if (problem !== undefined) throw fieldRefused(problem.pointer, problem.message)
  const next = { ...before, ...rates, ...(apns === undefined ? {} : { apns: JSON.stringify(apns) }) }
  const hasOtherRates = next.downlink_bps !== before.downlink_bps || next.uplink_bps !== before.uplink_bps
  if (!hasOtherRates && next.apns === before.apns) return { before, after: before }
  refuseUnwritten(parts, before)
  const after: SimRow = {
    ...next,
    ...unsynced(before),
    as_is: stillOpen(before, [...(apns === undefined ? [] : ['apns']), ...(hasOtherRates ? ['ambr'] : [])]),
    reach: hasOtherRates ? (before.reach ?? 'wait') : before.reach,
  }
  await SIMS.put(tx, after)
  tx.dirty(SIM_RESOURCE, hash, wantedInHss(after.state) !== 'open')
  if (hasOtherRates) tx.dirty(RATES_RESOURCE, hash)
  return { before, after }
}

/** What its import left open, without what was said since. */
function stillOpen({ as_is }: SimRow, said: readonly string[]): string | null {
  const open = (as_is ?? '').split(' ').filter((what) => !said.includes(what))
  return open.join(' ') || null
}
