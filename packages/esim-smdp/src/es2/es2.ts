import {
  type ImsiHash,
  isServiceError,
  type MutationTx,
  msFromDuration,
  type SimCard,
} from '@steeple/contracts'
import { confirmationDigest, drawMatchingId, newCode } from '../codes/activation.ts'
import { needReady } from '../codes/conflict.ts'
import { withoutCode } from '../codes/place.ts'
import { createPeers, type Peers } from '../es9/peers.ts'
import type { EsimParts } from '../parts.ts'
import { executedBody, Refused, refusedBody } from '../rsp/refusal.ts'
import { move, termsNow } from '../states/move.ts'
import { codeOfMatching } from '../store/code-queries.ts'
import { CALLS, callOf, ORDERS, ordersSince } from '../store/es2-store.ts'
import type { NamedEuicc } from '../store/euicc-store.ts'
import { CODES, type CodeRow } from '../store/rows.ts'
import {
  type Es2Call,
  type Es2Caller,
  type Es2Done,
  type Es2Function,
  type Es2FunctionName,
  type Es2Message,
  type Es2Metrics,
  type Es2Work,
  euiccIn,
  iccidIn,
  iccidOut,
  isOver,
  neededIccid,
  noOrder,
  ownOrder,
  readMessage,
} from './core.ts'

/** SGP.22 §4.1.1; an activation code has room for more, QR codes are read better with less. */
const MATCHING_ID = /^[A-Z0-9-]{1,64}$/
/** Characters, hyphens apart, that can hold 128 random bits: of ten digits, sixteen, and of digits and letters. */
const ENOUGH: readonly (readonly [RegExp, number])[] = [
  [/^[0-9]*$/, 39],
  [/^[0-9A-F]*$/, 32],
  [/^[0-9A-Z]*$/, 25],
]
/** Random characters of that number have more kinds but once in 10⁹; what is padded or repeated has fewer. */
const LEAST_KINDS = 6

/**
 * Checks a matching id of an order system's own: it is all that keeps a stranger from the profile, unless the order is
 * for one EID. So there must be room for 128 bits in it; whether they are random nobody can see from here.
 * Throws `Refused` (`matching_id_format`, `matching_id_weak`).
 */
function checkOwnMatchingId(matchingId: string, isLinked: boolean): void {
  if (!MATCHING_ID.test(matchingId)) throw new Refused('matching_id_format')
  if (isLinked) return
  const characters = matchingId.replaceAll('-', '')
  const least = ENOUGH.find(([kind]) => kind.test(characters))?.[1] ?? Number.POSITIVE_INFINITY
  if (characters.length < least || new Set(characters).size < LEAST_KINDS)
    throw new Refused('matching_id_weak')
}

const CONFIRMATION_CODE = /^[\x20-\x7e]{1,64}$/
const ANY_TEXT = /^[\s\S]{0,512}$/

/** What is done to the order of an ICCID, as it is in the transaction. */
type OnOrder = (tx: MutationTx, before: CodeRow) => Promise<Es2Done>

/** The work of a function on an order of the caller. */
async function onOrder(
  call: Es2Call,
  iccid: string,
  action: Es2Work['action'],
  otherwise: 'iccid_unavailable' | 'iccid_not_releasable',
  change: OnOrder,
): Promise<Es2Work> {
  const whenNone = await noOrder(call, iccid, otherwise)
  const iccidMac = await call.parts.lookup.mac(iccid)
  return {
    action,
    target: `…${iccid.slice(-4)}`,
    run: async (tx) => await change(tx, await ownOrder(tx, call, iccidMac, whenNone)),
  }
}

/** Gives an order its matching id, and what else it is to be downloaded with. SGP.22 §5.3.2. */
async function confirmOrder(call: Es2Call): Promise<Es2Work> {
  const { message, parts } = call
  const iccid = neededIccid(call)
  const isReleased = message.flag('releaseFlag')
  if (isReleased === undefined) throw new Refused('format', { detail: '(releaseFlag is missing)' })
  if ((message.text('smdsAddress', ANY_TEXT) ?? '') !== '') throw new Refused('sm_ds')
  // Absent: the drawn one. Empty: none is told, the eUICC is known by its EID.
  const matchingId = message.text('matchingId', ANY_TEXT)
  const code = message.text('confirmationCode', CONFIRMATION_CODE)
  const matchingMac = matchingId ? await parts.lookup.mac(matchingId) : undefined
  const eid = await euiccIn(call)
  return await onOrder(call, iccid, 'esim.confirm', 'iccid_unavailable', async (tx, before) => {
    await checkConfirmable(tx, call, before, { eid, matchingId, matchingMac })
    const seal = (octets: Uint8Array): Uint8Array =>
      parts.vault.seal(octets, `esim_smdp_code/${before.token}`)
    const completed: CodeRow = {
      ...before,
      ...(eid !== undefined && { eid_hash: eid.hash, eid_last4: eid.eid.slice(-4) }),
      ...(matchingMac !== undefined && {
        matching_mac: matchingMac,
        matching_sealed: seal(Buffer.from(matchingId ?? '', 'ascii')),
      }),
      ...(code !== undefined && { confirmation_sealed: seal(confirmationDigest(code)) }),
    }
    const terms = termsNow(parts)
    const confirmed = move(completed, { kind: 'confirm' }, terms).row
    const row = isReleased ? move(confirmed, { kind: 'release' }, terms).row : confirmed
    await CODES.put(tx, row)
    return {
      row,
      answer: {
        ...(eid !== undefined && { eid: eid.eid }),
        matchingId: matchingId ?? matchingIdOf(call, row),
        smdpAddress: row.smdp_address,
      },
      detail: {
        is_released: isReleased,
        is_linked: row.eid_hash !== null,
        confirmation_required: row.confirmation_sealed !== null,
      },
    }
  })
}

function matchingIdOf({ parts }: Es2Call, row: CodeRow): string {
  const octets = parts.vault.open(row.matching_sealed, `esim_smdp_code/${row.token}`)
  try {
    return Buffer.from(octets).toString('ascii')
  } finally {
    octets.fill(0)
  }
}

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
async function downloadOrder(call: Es2Call): Promise<Es2Work> {
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
  if (profileType === undefined) throw new Refused('profile_missing')
  if (!parts.context.config.es2.profile_types.includes(profileType)) throw new Refused('type_unknown')
  // Orders have a limit of their own.
  const asker = { principal: caller.principal, take: async () => undefined }
  const prepared = await parts.issuer.prepare({ count: 1, profile: profileType }, asker).catch((error) => {
    if (isServiceError(error) && error.code === 'capacity_exceeded') throw new Refused('type_unavailable')
    throw error
  })
  const [card] = prepared.cards
  if (card === undefined) throw new Refused('type_unavailable')
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
  if (card === undefined) throw new Refused('iccid_unknown')
  const view = await subscribers.find(card.imsi)
  if (view === undefined) throw new Refused('iccid_unknown')
  if (type !== undefined && type !== view.profile) throw new Refused('type_differs')
  if (view.state === 'revoked' || view.state === 'expired') throw new Refused('iccid_unavailable')
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
    throw isServiceError(error) ? new Refused('unavailable', { detail: `(${error.message})` }) : error
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
  if ((await ordersSince(tx, caller.owner, nowMs - HOUR_MS)) >= most) throw new Refused('busy')
  const sims = await taken.issueIn?.(tx)
  const free = await withoutCode(tx, [code.hash as ImsiHash])
  if (!free.has(code.hash)) throw new Refused('iccid_unavailable')
  await CODES.insert(tx, code)
  await ORDERS.insert(tx, {
    token: code.token,
    owner: caller.owner,
    profile_type: profileType,
    created_at_ms: nowMs,
  })
  return {
    row: code,
    answer: { iccid: iccidOut(iccid) },
    detail: { profile: profileType, is_new: sims !== undefined, is_linked: code.eid_hash !== null },
  }
}

/**
 * Ends an order. `Available`: its SIM may be ordered again, which is possible as long as nobody has it; `Unavailable`:
 * the SIM is revoked. SGP.22 §5.3.3.
 */
async function cancelOrder(call: Es2Call): Promise<Es2Work> {
  const { message, parts } = call
  const iccid = neededIccid(call)
  const final = message.text('finalProfileStatusIndicator', /^(Available|Unavailable)$/)
  if (final === undefined) throw new Refused('format', { detail: '(finalProfileStatusIndicator is missing)' })
  const matchingId = message.text('matchingId', ANY_TEXT)
  const matchingMac = matchingId ? await parts.lookup.mac(matchingId) : undefined
  const eid = await euiccIn(call)
  const isFinal = final === 'Unavailable'
  // A matching id that nobody knows, in the place of the one that is given back.
  const nobodys = drawMatchingId()
  const nobodysMac = await parts.lookup.mac(nobodys)
  return await onOrder(call, iccid, 'esim.cancel_order', 'iccid_unavailable', async (tx, before) => {
    if (eid !== undefined && before.eid_hash !== eid.hash) throw new Refused('eid_differs')
    if (matchingMac !== undefined && Buffer.compare(matchingMac, before.matching_mac) !== 0)
      throw new Refused('matching_id_differs')
    // What was delivered may be on an eUICC: nobody else may get it. What is installed is no order any more.
    if (before.state === 'installed' || (before.downloads > 0 && !isFinal))
      throw new Refused('iccid_unavailable')
    const row: CodeRow = {
      ...move(before, { kind: 'revoke' }, termsNow(parts)).row,
      last_error: 'its order was cancelled',
      matching_mac: nobodysMac,
      matching_sealed: parts.vault.seal(Buffer.from(nobodys, 'ascii'), `esim_smdp_code/${before.token}`),
      confirmation_sealed: null,
    }
    await CODES.put(tx, row)
    // The hash of a row is one.
    if (isFinal) await parts.issuer.revokeIn(tx, before.hash as ImsiHash)
    return { row, answer: {}, detail: { from: before.state, is_sim_revoked: isFinal } }
  })
}

/** Lets the profile of a confirmed order be downloaded. SGP.22 §5.3.4. */
async function releaseProfile(call: Es2Call): Promise<Es2Work> {
  const otherwise = 'iccid_not_releasable'
  return await onOrder(call, neededIccid(call), 'esim.release', otherwise, async (tx, before) => {
    if (before.state !== 'confirmed' || isOver(before, call)) throw new Refused(otherwise)
    const { row } = move(before, { kind: 'release' }, termsNow(call.parts))
    await CODES.put(tx, row)
    return { row, answer: {}, detail: {} }
  })
}

/** Throws `Refused` for an order that cannot be confirmed with these. */
async function checkConfirmable(
  tx: MutationTx,
  call: Es2Call,
  before: CodeRow,
  asked: {
    readonly eid: NamedEuicc | undefined
    readonly matchingId: string | undefined
    readonly matchingMac: Uint8Array | undefined
  },
): Promise<void> {
  const { eid, matchingId, matchingMac } = asked
  if (before.state !== 'allocated' || isOver(before, call)) throw new Refused('iccid_unavailable')
  if (eid !== undefined && before.eid_hash !== null && before.eid_hash !== eid.hash)
    throw new Refused('eid_differs')
  const isLinked = eid !== undefined || before.eid_hash !== null
  if (matchingId === '' && !isLinked) throw new Refused('eid_missing')
  if (matchingId) checkOwnMatchingId(matchingId, isLinked)
  const other = matchingMac === undefined ? undefined : await codeOfMatching(tx, matchingMac)
  if (other !== undefined && other.token !== before.token) throw new Refused('matching_id_taken')
}

const FUNCTIONS: Readonly<Record<Es2FunctionName, Es2Function>> = {
  downloadOrder,
  confirmOrder,
  cancelOrder,
  releaseProfile,
}

/** An answer of ES2+: HTTP status and JSON. */
interface Es2Answer {
  readonly status: 200 | 429
  readonly body: object
}

/** The SM-DP+ as an order system sees it. */
export interface Es2 {
  /** One call. Never rejects, and never answers anything but SGP.22's form. */
  call(name: Es2FunctionName, octets: Uint8Array, caller: Es2Caller): Promise<Es2Answer>
}

/** Thrown out of a transaction: another one has executed the same call meanwhile. */
class Overtaken extends Error {}

export function createEs2(parts: EsimParts, metrics: Es2Metrics): Es2 {
  const callers = createPeers()
  return {
    call: async (name, octets, caller) => {
      try {
        const { answer, isRepeated } = await called(parts, callers, { name, octets, caller })
        metrics.calls.inc({ function: name, result: isRepeated ? 'repeated' : 'executed' })
        return { status: 200, body: executedBody(answer) }
      } catch (error) {
        const refused = refusedBy(parts, name, error)
        metrics.calls.inc({ function: name, result: refused.refusal })
        return { status: refused.refusal === 'busy' ? 429 : 200, body: refusedBody(refused) }
      }
    },
  }
}

type Members = Readonly<Record<string, string>>

async function called(
  parts: EsimParts,
  callers: Peers,
  { name, octets, caller }: { name: Es2FunctionName; octets: Uint8Array; caller: Es2Caller },
): Promise<{ readonly answer: Members; readonly isRepeated: boolean }> {
  const { context } = parts
  if (!callers.admit(caller.owner, context.clock.monotonicMs())) throw new Refused('busy')
  const message = readMessage(octets)
  const id = await callId(parts, name, caller.owner, message)
  const known =
    (await repeated(parts, id)) ??
    (await repeated(parts, await callId(parts, name, caller.formerOwner, message)))
  if (known !== undefined) return { answer: known, isRepeated: true }
  const call: Es2Call = { parts, caller, message, nowMs: Math.floor(context.clock.nowMs()) }
  const work = await FUNCTIONS[name](call)
  try {
    return { answer: await executeOnce(call, work, id), isRepeated: false }
  } catch (error) {
    const other = error instanceof Overtaken ? await repeated(parts, id) : undefined
    if (other === undefined) throw error
    return { answer: other, isRepeated: true }
  }
}

/** Order, audit entry, event and the answer that is kept are one transaction. */
async function executeOnce(
  { parts, caller, message, nowMs }: Es2Call,
  work: Es2Work,
  id: string,
): Promise<Members> {
  let answer: Members = {}
  await parts.context.mutate(caller.principal, work.action, work.target, async (tx) => {
    if ((await callOf(tx, id)) !== undefined) throw new Overtaken('executed meanwhile')
    const done = await work.run(tx)
    const text = Buffer.from(JSON.stringify(done.answer))
    const answer_sealed = parts.vault.seal(text, `esim_smdp_call/${id}`)
    await CALLS.insert(tx, { id, answer_sealed, at_ms: nowMs })
    const named = { requester: message.requester, function_call: message.call, client: caller.subject }
    const { token, hash } = done.row
    tx.audit({ target: hash, detail: { token, ...done.detail, ...named } })
    tx.event({ type: work.action, subject: token })
    answer = done.answer
  })
  return answer
}

async function repeated(parts: EsimParts, id: string): Promise<Members | undefined> {
  const row = await callOf(parts.context.db, id)
  if (row === undefined) return undefined
  const octets = parts.vault.open(row.answer_sealed, `esim_smdp_call/${id}`)
  try {
    // Written by executeOnce alone.
    return JSON.parse(Buffer.from(octets).toString('utf8')) as Members
  } finally {
    octets.fill(0)
  }
}

/**
 * What a call is recognised by: who calls, its identifier, and what it asks for. Clients are known that count their calls
 * anew with each run: another message under the identifier of an earlier one is another call.
 */
async function callId(
  { lookup }: EsimParts,
  name: Es2FunctionName,
  owner: string,
  { requester, call, canonical }: Es2Message,
): Promise<string> {
  // A keyed hash: the message may have a short confirmation code in it.
  const mac = await lookup.mac(JSON.stringify(['es2', owner, requester, call, name, canonical]))
  return Buffer.from(mac).toString('hex')
}

function refusedBy({ context }: EsimParts, name: Es2FunctionName, error: unknown): Refused {
  if (error instanceof Refused) {
    context.log.debug({ function: name, refusal: error.refusal }, 'a call of ES2+ was refused')
    return error
  }
  const code = isServiceError(error) ? error.code : undefined
  context.log.error(
    { function: name, code, ...(code === undefined && { err: error }) },
    'a call of ES2+ failed',
  )
  return new Refused('unavailable')
}
