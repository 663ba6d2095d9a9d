import {
  type ImsiHash,
  isServiceError,
  type MutationTx,
  msFromDuration,
  type SimCard,
} from '@steeple/contracts'
import { newCode } from '../codes/new-codes.ts'
import { withoutCode } from '../codes/place.ts'
import { needReady } from '../codes/ready.ts'
import { ORDERS } from '../store/es2-rows.ts'
import { ordersSince } from '../store/es2-store.ts'
import { CODES, type CodeRow } from '../store/rows.ts'
import { type Es2Call, type Es2Done, type Es2Work, euiccIn, iccidIn, iccidOut } from './core.ts'
import { Es2Refused } from './refusal.ts'

const HOUR_MS = 3_600_000
const DEFAULT_LIFE_MS: number = 30 * 24 * HOUR_MS
const PROFILE_TYPE = /^[\x20-\x7e]{1,64}$/

/** A SIM that is ordered. */
interface Taken {
  readonly card: SimCard
  readonly profileType: string
  readonly code: CodeRow
  /** Digits. */
  readonly iccid: string
  /** Makes a SIM that is new durable. */
  issueIn?(tx: MutationTx): Promise<{ readonly detail: Readonly<Record<string, unknown>> }>
}

/**
 * Takes a SIM for an order: the one of an ICCID, which must be free, or a new one of a profile type. It cannot be
 * downloaded before it is released. SGP.22 §5.3.1.
 */
export async function downloadOrder(call: Es2Call): Promise<Es2Work> {
  const iccid = iccidIn(call)
  const type = call.message.text('profileType', PROFILE_TYPE)
  const taken = iccid === undefined ? await newSim(call, type) : await knownSim(call, iccid, type)
  return {
    action: 'esim.order',
    target: taken.card.imsi,
    run: (tx) => place(tx, call, taken),
  }
}

async function newSim(call: Es2Call, profileType: string | undefined): Promise<Taken> {
  const { parts, caller } = call
  if (profileType === undefined) throw new Es2Refused('profile_missing')
  if (!parts.context.config.es2.profile_types.includes(profileType)) throw new Es2Refused('type_unknown')
  // Orders have a limit of their own.
  const asker = { principal: caller.principal, take: async () => undefined }
  const prepared = await parts.issuer.prepare({ count: 1, profile: profileType }, asker).catch((error) => {
    if (isServiceError(error) && error.code === 'capacity_exceeded') throw new Es2Refused('type_unavailable')
    throw error
  })
  const [card] = prepared.cards
  if (card === undefined) throw new Es2Refused('type_unavailable')
  const { code, iccid } = await allocated(call, card, prepared.credentials(card.imsi))
  return {
    card,
    profileType,
    code,
    iccid,
    issueIn: (tx) => prepared.issueIn(tx),
  }
}

async function knownSim(call: Es2Call, iccid: string, type: string | undefined): Promise<Taken> {
  const { issuer, subscribers } = call.parts
  const card = await issuer.byIccid(iccid)
  if (card === undefined) throw new Es2Refused('iccid_unknown')
  const view = await subscribers.find(card.imsi)
  if (view === undefined) throw new Es2Refused('iccid_unknown')
  if (type !== undefined && type !== view.profile) throw new Es2Refused('type_differs')
  if (view.state === 'revoked' || view.state === 'expired') throw new Es2Refused('iccid_unavailable')
  const { code } = await allocated(call, card, await issuer.credentials(card.imsi))
  return { card, profileType: view.profile, code, iccid }
}

/** Its code, which nobody is told: the matching id that it has now is the one that it gets when none is asked for. */
async function allocated(
  call: Es2Call,
  card: SimCard,
  credentials: Awaited<ReturnType<Es2Call['parts']['issuer']['credentials']>>,
): Promise<{ readonly code: CodeRow; readonly iccid: string }> {
  await needReady(call.parts).catch((error: unknown) => {
    throw isServiceError(error) ? new Es2Refused('unavailable', { detail: `(${error.message})` }) : error
  })
  const { smdp_address, single_use, code_expiry } = call.parts.context.config
  const iccid = Buffer.from(credentials.iccid).toString('latin1')
  const { row } = await newCode(call.parts, card, credentials, {
    smdpAddress: smdp_address,
    isSingleUse: single_use,
    confirmationCode: undefined,
    euicc: await euiccIn(call),
    nowMs: call.nowMs,
    expiresAtMs: call.nowMs + (msFromDuration(code_expiry) ?? DEFAULT_LIFE_MS),
  })
  return { code: { ...row, state: 'allocated' }, iccid }
}

async function place(tx: MutationTx, call: Es2Call, taken: Taken): Promise<Es2Done> {
  const { parts, caller, nowMs } = call
  const { code, profileType, iccid } = taken
  const most = parts.context.config.es2.max_orders_per_hour
  if ((await ordersSince(tx, caller.owner, nowMs - HOUR_MS)) >= most) throw new Es2Refused('busy')
  const sims = await taken.issueIn?.(tx)
  const free = await withoutCode(tx, [code.hash as ImsiHash])
  if (!free.has(code.hash)) throw new Es2Refused('iccid_unavailable')
  await CODES.insert(tx, code)
  await ORDERS.insert(tx, {
    token: code.token,
    owner: caller.owner,
    profile_type: profileType,
    created_at_ms: nowMs,
  })
  return {
    answer: { iccid: iccidOut(iccid) },
    token: code.token,
    sim: code.hash,
    detail: { profile: profileType, is_new: sims !== undefined, is_linked: code.eid_hash !== null },
  }
}
