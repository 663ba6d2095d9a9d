import {
  createTurns,
  fieldRefused,
  type JsonSchema,
  type MutationTx,
  objectSchema,
  ok,
  type Principal,
  type Reply,
  type Request,
  type Route,
  recordSchema,
  route,
} from '@steeple/contracts'
import { iccidOut } from '../es2/core.ts'
import type { EsimParts } from '../parts.ts'
import { memberOf } from '../rsp/refusal.ts'
import { move, termsNow } from '../states/move.ts'
import { PROVIDED, type ProvidedStep, type ProviderRow } from '../store/provider-store.ts'
import { CODES } from '../store/rows.ts'
import { callProvider, ProviderFailure } from './es2-client.ts'
import {
  type GivenCode,
  iccidOf,
  LEFT_OUT,
  type LeftOut,
  lookupReady,
  ORDER_PROPERTIES,
  type OrderBody,
  openCodeOf,
  type ProvidedSim,
  putGiven,
  putOrdered,
  simsOf,
  standing,
  unfit,
} from './provided-code.ts'
import { providerBy, providerConflict } from './provider.ts'
import { PROVIDER_PARAMS, type ProviderParams } from './provider-routes.ts'
import { activationParts } from './returned-codes.ts'

interface ProviderOrder extends OrderBody {
  readonly release?: boolean
  readonly confirmation_code?: string
  readonly eid?: string
}

/** SIMs of one request: each takes two calls, and a request ends within a minute. */
const PART = 20
/** SIMs of a batch that are looked at. */
const MOST_SIMS = 10_000
/** Calls at once. */
const ABREAST = 4

const BODY: JsonSchema = objectSchema({
  ...ORDER_PROPERTIES,
  release: {
    type: 'boolean',
    description: 'False: the code is confirmed and cannot be used yet; order again to release it.',
  },
  confirmation_code: {
    type: 'string',
    pattern: '^[\\x21-\\x7e]{4,64}$',
    writeOnly: true,
    description: 'What the phone asks its user for.',
  },
  eid: {
    type: 'string',
    pattern: '^[0-9]{32}$',
    writeOnly: true,
    description: 'The only eUICC that gets the profile; with one SIM.',
  },
})

/** `POST /v1/esim/providers/{id}/order` */
export function orderRoute(parts: EsimParts): Route {
  const turns = createTurns()
  return route<ProviderParams, unknown, ProviderOrder>({
    method: 'POST',
    path: '/v1/esim/providers/:id/order',
    role: 'sim:issuer',
    summary: 'Order activation codes from a provider by ES2+',
    description:
      `DownloadOrder and ConfirmOrder for each SIM that has no code of it, at most ${PART} at a time; remaining says how many are left. What the ` +
      'provider refuses stays `allocated` with its reason, and the next order tries it again. Codes count against the limit sim_issue.',
    example: { batch_id: 'b-20260101-000000000000' },
    schema: {
      params: PROVIDER_PARAMS,
      body: BODY,
      response: recordSchema({
        ordered: { type: 'integer', description: 'SIMs that have a code now.' },
        failed: {
          type: 'array',
          items: recordSchema({ imsi_sha256_12: { type: 'string' }, reason: { type: 'string' } }),
        },
        left_out: LEFT_OUT,
        remaining: { type: 'integer' },
      }),
    },
    errors: [
      'validation_failed',
      'not_found',
      'sim_not_found',
      'rate_limited',
      'esim_provider_not_found',
      'esim_provider_conflict',
      'store_corrupt',
    ],
    audit: 'esim.provider_order',
    // One at a time: two would ask for the same profiles.
    handle: (request) => turns(() => orderCodes(parts, request)),
  })
}

type OrderRequest = Request<ProviderParams, unknown, ProviderOrder>

async function orderCodes(parts: EsimParts, request: OrderRequest): Promise<Reply> {
  const { context } = parts
  const provider = await providerBy(context.db, request.params.id)
  if (provider.url === '')
    throw providerConflict(`the provider ${provider.id} has no ES2+; send it an order file, or set its url`)
  if (provider.requester === '')
    throw providerConflict(`the provider ${provider.id} has no requester; set what it calls you`)
  if (request.body.eid !== undefined && request.body.imsis?.length !== 1)
    throw fieldRefused('/eid', 'is for one SIM; name that SIM alone')
  const { wanted, leftOut } = await wantedOf(parts, provider.id, request.body)
  const now = wanted.slice(0, PART)
  if (now.length === 0)
    throw providerConflict(
      leftOut[0] === undefined
        ? 'each of these SIMs has a code of this provider'
        : `no SIM can be ordered: ${leftOut[0].reason}`,
    )
  await request.take('sim_issue', now.length)
  const orders = await begun(parts, request.principal, provider.id, now)
  const outcomes = await asked(parts, provider, orders, request.body)
  return await request.mutate(provider.id, async (tx) => {
    const failed: LeftOut[] = []
    for (const outcome of outcomes) {
      const reason = await store(parts, tx, provider.id, outcome)
      if (reason !== undefined) failed.push({ imsi_sha256_12: outcome.order.sim.card.imsi, reason })
    }
    const ordered = outcomes.length - failed.length
    tx.audit({ detail: { ordered, failed: failed.length, tokens: orders.map(({ token }) => token) } })
    tx.event({ type: 'esim.provider_order', subject: provider.id, data: { ordered, failed: failed.length } })
    return ok({ ordered, failed, left_out: leftOut, remaining: wanted.length - now.length })
  })
}

/** The SIMs that still need something of the provider. */
async function wantedOf(
  parts: EsimParts,
  provider: string,
  body: OrderBody,
): Promise<{ readonly wanted: readonly ProvidedSim[]; readonly leftOut: readonly LeftOut[] }> {
  const wanted: ProvidedSim[] = []
  const leftOut: LeftOut[] = []
  for (const card of await simsOf(parts, body, MOST_SIMS)) {
    const { codes, obstacle } = await standing(parts.context.db, provider, card.imsi)
    const state = openCodeOf(provider, codes)?.code.state
    const reason = unfit(card) ?? obstacle
    if (reason !== undefined) leftOut.push({ imsi_sha256_12: card.imsi, reason })
    else if (state === undefined || state === 'allocated' || state === 'confirmed')
      wanted.push({ card, iccid: '' })
  }
  return { wanted, leftOut }
}

/** A SIM under order. */
interface Order {
  readonly sim: ProvidedSim
  readonly token: string
  readonly step: ProvidedStep
}

/** Each order is stored before its first call: whatever ends this service, the next order goes on with it. */
async function begun(
  parts: EsimParts,
  principal: Principal,
  provider: string,
  sims: readonly ProvidedSim[],
): Promise<readonly Order[]> {
  const withIccid: ProvidedSim[] = []
  for (const { card } of sims) withIccid.push({ card, iccid: (await iccidOf(parts, card.imsi)) ?? '' })
  await lookupReady(parts)
  let orders: Order[] = []
  await parts.context.mutate(principal, 'esim.provider_order', provider, async (tx) => {
    orders = []
    for (const sim of withIccid) {
      const { codes, obstacle } = await standing(tx, provider, sim.card.imsi)
      if (obstacle !== undefined) throw providerConflict(`${obstacle}; it came meanwhile: order again`)
      const token = openCodeOf(provider, codes)?.code.token ?? (await putOrdered(parts, tx, provider, sim))
      const row = await PROVIDED.find(tx, { token })
      if (row === undefined) throw providerConflict(`the order ${token} is gone; order again`)
      if (row.step === 'none') await PROVIDED.put(tx, { ...row, step: 'sent' })
      orders.push({ sim, token, step: row.step })
    }
    tx.audit({ detail: { begun: orders.length, tokens: orders.map(({ token }) => token) } })
  })
  return orders
}

/** What came of it: how far it is, and the code or why there is none. */
interface Outcome {
  readonly order: Order
  readonly step: ProvidedStep
  readonly given?: GivenCode
  readonly isReleased?: boolean
  readonly reason?: string
}

async function asked(
  parts: EsimParts,
  provider: ProviderRow,
  orders: readonly Order[],
  body: ProviderOrder,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  for (let at = 0; at < orders.length; at += ABREAST)
    outcomes.push(
      ...(await Promise.all(
        orders.slice(at, at + ABREAST).map((order) => ask(parts, provider, order, body)),
      )),
    )
  return outcomes
}

async function ask(
  parts: EsimParts,
  provider: ProviderRow,
  order: Order,
  body: ProviderOrder,
): Promise<Outcome> {
  const { context, vault } = parts
  const { confirmation_code: confirmationCode, eid, release = true } = body
  const iccid = iccidOut(order.sim.iccid)
  const call = (
    name: 'downloadOrder' | 'confirmOrder' | 'releaseProfile',
    members: Record<string, string | boolean | undefined>,
  ) => callProvider(vault, provider, { name, id: `${order.token}-${name}`, members }, context.retiring)
  let { step } = order
  try {
    if (step === 'confirmed') {
      if (release) await call('releaseProfile', { iccid })
      return { order, step, isReleased: release }
    }
    if (step !== 'ordered') {
      const profileType = provider.profile_type === '' ? undefined : provider.profile_type
      const wasSent = step === 'sent'
      step = 'sent'
      await ordered(call('downloadOrder', { iccid, eid, profileType }), order.sim.iccid, wasSent)
      step = 'ordered'
    }
    const answer = await call('confirmOrder', { iccid, eid, confirmationCode, releaseFlag: release })
    return {
      order,
      step: 'confirmed',
      given: givenIn(provider, answer, confirmationCode),
      isReleased: release,
    }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    // What was refused was not done; of what had no answer nobody knows.
    const isUndone = error.refusal !== undefined && step === 'sent'
    return { order, step: isUndone ? 'none' : step, reason: error.message }
  }
}

/** Of a profile that was ordered before, by a call whose answer was lost, this is what the provider says. */
const ORDERED_ALREADY = '8.2.1/3.3'

async function ordered(call: Promise<unknown>, iccid: string, wasSent: boolean): Promise<void> {
  try {
    const given = memberOf(await call, 'iccid')
    if (typeof given === 'string' && given.replace(/f$/i, '') !== iccid)
      throw new ProviderFailure('downloadOrder: the provider gave the profile of another ICCID')
  } catch (error) {
    if (wasSent && error instanceof ProviderFailure && error.refusal === ORDERED_ALREADY) return
    throw error
  }
}

function givenIn(provider: ProviderRow, answer: unknown, confirmationCode: string | undefined): GivenCode {
  const matchingId = memberOf(answer, 'matchingId')
  const address = memberOf(answer, 'smdpAddress') ?? new URL(provider.url).hostname
  const parts =
    typeof matchingId === 'string' && typeof address === 'string'
      ? activationParts(`1$${address}$${matchingId}`)
      : 'there is no matching id'
  if (typeof parts === 'string')
    throw new ProviderFailure(`confirmOrder: the answer makes no activation code: ${parts}`)
  return { ...parts, isConfirmed: confirmationCode !== undefined, confirmationCode }
}

/** Stores what came of an order. Gives the reason when the SIM has no code now. */
async function store(
  parts: EsimParts,
  tx: MutationTx,
  provider: string,
  { order, step, given, isReleased = false, reason }: Outcome,
): Promise<string | undefined> {
  const { token, sim } = order
  if (given !== undefined) {
    const taken = await putGiven(parts, tx, { provider, sim, given, isReleased })
    return 'problem' in taken ? taken.problem : undefined
  }
  const [row, provided] = [await CODES.find(tx, { token }), await PROVIDED.find(tx, { token })]
  if (row === undefined || provided === undefined) return 'the order was removed meanwhile'
  await PROVIDED.put(tx, { ...provided, step })
  const moved = isReleased ? move(row, { kind: 'release' }, termsNow(parts)).row : row
  await CODES.put(tx, { ...moved, last_error: reason ?? null })
  return reason
}
