import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  changeTag,
  type ErrorDetail,
  forbidden,
  isServiceError,
  type JsonSchema,
  type MutationTx,
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
  simNotFound,
  staleChange,
  validationFailed,
} from '@steeple/contracts'
import { NAME_SCHEMA } from '../issue/issue-schema.ts'
import type { SimsParts } from '../parts.ts'
import { changedPart, recordOf, SIM_SCHEMA } from '../record.ts'
import { transitionSim } from '../states/change.ts'
import { SIMS, type SimFilter } from '../store/sim-store.ts'
import { replaceWords } from '../store/word-store.ts'
import { countMatching, FILTER_PROPERTIES, filterFrom, matchingHashes } from './filter.ts'
import type { SimParams } from './read-routes.ts'
import { WAIT_SCHEMA, type WaitQuery, waitMsOf, watchCuts, watchPushes } from './state-routes.ts'

type BulkAction = 'suspend' | 'resume' | 'revoke' | 'label'
interface BulkBody {
  readonly action: BulkAction
  readonly ids?: readonly string[]
  readonly filter?: SimFilter
  readonly label?: string | null
  readonly reason?: string
  readonly override?: boolean
  readonly dry_run?: boolean
}
interface BulkResult {
  readonly imsi_sha256_12: string
  readonly status: 'changed' | 'unchanged' | 'error'
  readonly state: string | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** SIMs of one bulk change. */
const MOST = 10_000
const CHUNK = 250
/** The role of each action is that of its own route; labels are the issuer's. */
const ROLES: Readonly<Record<BulkAction, Role>> = {
  suspend: 'operator',
  resume: 'operator',
  revoke: 'sim:admin',
  label: 'sim:issuer',
}

const BODY: JsonSchema = objectSchema(
  {
    action: { type: 'string', enum: ['suspend', 'resume', 'revoke', 'label'] },
    ids: {
      type: 'array',
      minItems: 1,
      maxItems: MOST,
      uniqueItems: true,
      items: { type: 'string', pattern: '^[0-9a-f]{12}$' },
    },
    filter: objectSchema(FILTER_PROPERTIES, [], { minProperties: 1 }),
    label: { ...NAME_SCHEMA, type: ['string', 'null'], description: 'For action label; null removes it.' },
    reason: { ...NAME_SCHEMA, maxLength: 256 },
    override: { type: 'boolean', description: 'For action resume: also when the quota is used up.' },
    dry_run: { type: 'boolean', description: 'Changes nothing: the answer says how many SIMs are meant.' },
  },
  ['action'],
)
const REPORT: JsonSchema = recordSchema({
  matched: { type: 'integer', description: 'SIMs that are meant.' },
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

const NOTHING_DONE = { changed: 0, unchanged: 0, failed: 0, attached: 0, detached: null, results: [] }

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
      'One transaction for at most 10,000 SIMs, with a report on each. The wait comes after it: for phones that were ' +
      'attached, and after a resume for the HSS. You need the role of the action: operator for suspend and resume, ' +
      'sim:admin for revoke (which counts against sim_revoke), sim:issuer for label.',
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
      const isAllowed = request.principal.roles.has(role)
      if (isAllowed) checkParts(body)
      if (isAllowed && body.dry_run === true) {
        found.set(body, 0)
        return ok({ ...NOTHING_DONE, matched: await countMeant(parts, body) })
      }
      const ids = isAllowed ? await idsOf(parts, body) : []
      found.set(body, isAllowed ? ids.length : 0)
      return await change(parts, request, ids, isAllowed ? undefined : role)
    },
  })
}

function checkParts(body: BulkBody): void {
  const details: ErrorDetail[] = []
  if ((body.ids === undefined) === (body.filter === undefined))
    details.push({ pointer: '/ids', message: 'either ids or filter is needed, and not both' })
  if ((body.action === 'label') !== (body.label !== undefined))
    details.push({ pointer: '/label', message: 'goes with action label and with no other' })
  if (details.length > 0)
    throw validationFailed(details.map(({ pointer, message }) => `${pointer} ${message}`).join('; '), {
      details,
    })
}

async function countMeant(parts: SimsParts, { ids, filter }: BulkBody): Promise<number> {
  if (ids !== undefined) return ids.length
  const asked = filterFrom(filter ?? {})
  const most = Number.MAX_SAFE_INTEGER
  return (await countMatching(parts, asked)) ?? (await matchingHashes(parts, asked, most)).length
}

async function idsOf(parts: SimsParts, body: BulkBody): Promise<readonly string[]> {
  if (body.ids !== undefined) return body.ids
  const ids = await matchingHashes(parts, filterFrom(body.filter ?? {}), MOST + 1)
  if (ids.length <= MOST) return ids
  const message = `matches more than ${MOST} SIMs; narrow it`
  throw validationFailed(`/filter ${message}`, { details: [{ pointer: '/filter', message }] })
}

/** `missing`: the role that the principal lacks; the refusal is audited with the mutation. */
async function change(
  parts: SimsParts,
  request: Request<unknown, WaitQuery, BulkBody>,
  ids: readonly string[],
  missing: Role | undefined,
): Promise<Reply> {
  const { action } = request.body
  const isCut = action === 'suspend' || action === 'revoke'
  const waitMs = waitMsOf(request.query)
  const watch = watchCuts(parts, isCut ? ids : [], waitMs, request.signal)
  const pushes = watchPushes(parts, action === 'resume' ? ids : [], waitMs, request.signal)
  try {
    const { reply, changed, off } = await changeAll(parts, request, ids, missing, watch.on)
    if (waitMs === 0) return reply
    await pushes.done(changed)
    return { ...reply, body: { ...Object(reply.body), detached: await watch.off(off) } }
  } finally {
    watch.end()
    pushes.end()
  }
}

/** The report, whom it changed, and which phones that were `on` have to go off. */
async function changeAll(
  parts: SimsParts,
  request: Request<unknown, WaitQuery, BulkBody>,
  ids: readonly string[],
  missing: Role | undefined,
  on: ReadonlySet<string>,
): Promise<{ readonly reply: Reply; readonly changed: readonly string[]; readonly off: readonly string[] }> {
  const { body } = request
  let changed: readonly string[] = []
  let off: readonly string[] = []
  const reply = await request.mutate(`sims:${body.action}`, async (tx) => {
    if (missing !== undefined) throw forbidden(missing)
    const results: BulkResult[] = []
    for (const hash of ids) {
      results.push(await one(parts, tx, hash, body))
      // Requests that only read go on meanwhile.
      if (results.length % CHUNK === 0) await nextTurn()
    }
    const count = (status: BulkResult['status']): number =>
      results.filter((result) => result.status === status).length
    const totals = {
      matched: ids.length,
      changed: count('changed'),
      unchanged: count('unchanged'),
      failed: count('error'),
    }
    changed = results.filter(({ status }) => status === 'changed').map((result) => result.imsi_sha256_12)
    tx.audit({ detail: { action: body.action, reason: body.reason ?? null, ...totals, ids: changed } })
    tx.event({ type: 'sim.bulk', subject: `sims:${body.action}`, data: { action: body.action, ...totals } })
    off = changed.filter((hash) => on.has(hash))
    return { body: { ...totals, attached: off.length, detached: null, results } }
  })
  return { reply, changed, off }
}

async function one(parts: SimsParts, tx: MutationTx, hash: string, body: BulkBody): Promise<BulkResult> {
  try {
    const { before, after } =
      body.action === 'label'
        ? await relabel(tx, hash, body.label ?? null)
        : await transitionSim(parts, tx, hash, {
            action: body.action,
            ...(body.override === true ? { lift: 'override' } : {}),
          })
    const status = before === after ? 'unchanged' : 'changed'
    return { imsi_sha256_12: hash, status, state: after.state, error: null }
  } catch (error) {
    if (!isServiceError(error) || error.status >= 500) throw error
    const { code, message } = error
    return { imsi_sha256_12: hash, status: 'error', state: null, error: { code, message } }
  }
}

/** Gives a SIM another label. Throws `sim_not_found`. */
async function relabel(
  tx: MutationTx,
  hash: string,
  label: string | null,
): Promise<Awaited<ReturnType<typeof transitionSim>>> {
  const before = await SIMS.find(tx, { hash })
  if (before === undefined) throw simNotFound(hash)
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
    handle: async (request) => {
      const { imsi: hash } = request.params
      return await request.mutate(hash, async (tx) => {
        const { before, after } = await relabel(tx, hash, request.body.label)
        refuseStale(request.header('if-match'), changedPart(before), `the SIM ${hash}`)
        // A label may be a person's name, which the trail has no need of.
        tx.audit({ detail: { is_changed: before !== after } })
        tx.event({ type: 'sim.label', subject: hash, data: {} })
        const body = await recordOf(parts, after, tx)
        return { body, headers: { etag: changeTag(changedPart(after), body) } }
      })
    },
  })
}
