import type { LabClock } from '../clock.ts'
import type { Hss, S6aError } from '../hss/hss.ts'
import type { ApnSubscription, Subscription } from '../hss/subscription.ts'
import type { AuthVector, Resync } from '../hss/vector.ts'
import type { DaemonLog } from '../info/daemon-log.ts'
import type { Sessions } from '../smf/sessions.ts'
import type { AttachAnswer } from './air.ts'
import type { UeContext } from './ue-context.ts'

/** TS 24.301 §9.9.3.9. */
const CAUSE_EPS_AND_NON_EPS_NOT_ALLOWED = 8
const CAUSE_NO_SUITABLE_CELLS = 15
const CAUSE_ESM_FAILURE = 19
const CAUSE_SEVERE_NETWORK_FAILURE = 42
/** Result codes of S6a (TS 29.272 §7.4.3, RFC 6733 §7.1.3), and what the phone is told then. */
const S6A_FAILURES: Readonly<Record<S6aError, { readonly diameter: number; readonly emm: number }>> = {
  user_unknown: { diameter: 5001, emm: CAUSE_EPS_AND_NON_EPS_NOT_ALLOWED },
  unknown_eps_subscription: { diameter: 5420, emm: CAUSE_NO_SUITABLE_CELLS },
  unable_to_deliver: { diameter: 3002, emm: CAUSE_NO_SUITABLE_CELLS },
}
/** EMM causes of an Authentication Failure. TS 24.301 §9.9.3.9. */
const FAILURE_CAUSES = { mac_failure: 20, synch_failure: 21, not_eps: 26 } as const
const IDENTITY = { host: 'mme.localdomain', realm: 'localdomain' }

/** Whom the MME asks in an attach. */
export interface AttachParts {
  readonly hss: Hss
  readonly sessions: Sessions
  readonly clock: LabClock
  /** One message over the air and through the core, ms. */
  readonly hopMs: number
  readonly log: DaemonLog
}

/** One attach under way. */
interface Attach {
  readonly context: UeContext
  readonly signal: AbortSignal
  readonly parts: AttachParts
  hop(): Promise<void>
  reject(emmCause: number): AttachAnswer
}

/** The EMM procedures of one attach, in order. TS 24.301 §5.5.1. */
export async function attachProcedure(
  context: UeContext,
  signal: AbortSignal,
  parts: AttachParts,
): Promise<AttachAnswer> {
  const { hss, sessions, clock, hopMs, log } = parts
  const { imsi, phone } = context
  const hop = (): Promise<void> => clock.sleep(hopMs, signal)
  const end = (answer: AttachAnswer): AttachAnswer => {
    Object.assign(context, { state: 'exception', isConnected: false })
    return answer
  }
  const reject = (emmCause: number): AttachAnswer => {
    log('INFO', `[${imsi}] Attach reject [OGS_NAS_EMM_CAUSE:${emmCause}]`)
    return end({ kind: 'rejected', emmCause })
  }
  log('INFO', `[${imsi}] Attach request`)
  log('INFO', `    IMSI[${imsi}]`)
  await hop()
  const refusal = await challenge({ context, signal, parts, hop, reject }, undefined)
  if (refusal !== undefined) return end(refusal)
  context.state = 'security_mode'
  await hop()
  const subscription = await hss.updateLocation(imsi, { ...IDENTITY, imeisv: phone.imeisv })
  signal.throwIfAborted()
  context.state = 'initial_context_setup'
  // As the real MME does over a subscriber without a slice: it forgets to answer.
  if (subscription === 'unknown_eps_subscription') {
    log('ERROR', 'no_ULA-Flags')
    return await abandoned(signal)
  }
  if (typeof subscription === 'string') return reject(S6A_FAILURES[subscription].emm)
  context.ambr = subscription.ambr
  const apn = apnFor(phone.apn, subscription, log)
  if (apn === 'unknown') return end({ kind: 'rejected', emmCause: CAUSE_ESM_FAILURE })
  if (apn === 'none') return reject(CAUSE_SEVERE_NETWORK_FAILURE)
  const session = sessions.create(imsi, apn)
  if (session === undefined) return reject(CAUSE_ESM_FAILURE)
  context.session = session
  await hop()
  context.state = 'registered'
  log('INFO', `[${imsi}] Attach complete`)
  return { kind: 'accepted' }
}

/** Authentication, with one resynchronisation. Undefined when the phone has proved itself. */
async function challenge(attach: Attach, resync: Resync | undefined): Promise<AttachAnswer | undefined> {
  const { context, signal, parts, hop, reject } = attach
  const { hss, log } = parts
  const { imsi, phone } = context
  const vector: AuthVector | S6aError = await hss.authentication(imsi, resync)
  signal.throwIfAborted()
  if (typeof vector === 'string') {
    const { diameter, emm } = S6A_FAILURES[vector]
    log('WARNING', `Authentication Information failed [${diameter}]`)
    return reject(emm)
  }
  await hop()
  const answer = phone.authenticate(vector.rand, vector.autn)
  await hop()
  if (answer.kind === 'res' && Buffer.from(vector.xres).equals(answer.res)) return undefined
  if (answer.kind !== 'res') {
    log('WARNING', 'Authentication failure')
    log('WARNING', `    IMSI[${imsi}] OGS_NAS_EMM_CAUSE[${FAILURE_CAUSES[answer.kind]}]`)
  }
  // Once only: a card that refuses twice has another problem.
  if (answer.kind === 'synch_failure' && resync === undefined)
    return await challenge(attach, { rand: vector.rand, auts: answer.auts })
  return { kind: 'authentication_reject' }
}

/** Nothing, until the phone gives up. */
export async function abandoned(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  signal.throwIfAborted()
  return await promise
}

/** What a phone that asks for an APN gets; `none` when one of them has no type: the MME takes none of them then. */
function apnFor(
  asked: string | undefined,
  { apns }: Subscription,
  log: DaemonLog,
): ApnSubscription | 'unknown' | 'none' {
  const odd = apns.find(({ type }) => type < 1 || type > 3)
  if (odd !== undefined) log('ERROR', `Invalid PDN_TYPE[${odd.type}]`)
  if (odd !== undefined || apns[0] === undefined) {
    log('ERROR', 'No Session')
    return 'none'
  }
  if (asked === undefined) return apns[0]
  const found = apns.find(({ name }) => name === asked)
  if (found === undefined) log('WARNING', `Invalid APN[${asked}]`)
  return found ?? 'unknown'
}
