import type { LabClock } from '../clock.ts'
import type { Hss, HssRequests, S6aError } from '../hss/hss.ts'
import type { Ambr, ApnSubscription, Subscription } from '../hss/subscription.ts'
import type { AuthVector, Resync } from '../hss/vector.ts'
import type { DaemonLog } from '../info/daemon-log.ts'
import type { Session, Sessions } from '../smf/sessions.ts'

/** A phone as the network reaches it. Each answer takes as long as the air takes. */
export interface PhonePort {
  readonly imeisv: string
  /** The APN that it asks for; undefined for whatever its subscription has first. */
  readonly apn?: string | undefined
  /** NAS Authentication Request. */
  authenticate(rand: Uint8Array, autn: Uint8Array): AuthAnswer
  /** Whether it hears its paging and comes back. */
  paged(): boolean
  /** NAS Detach Request of the network, re-attach required: whether it answers. */
  detachRequested(): boolean
}

/** What a USIM makes of an authentication request. TS 24.301 §5.4.2. */
export type AuthAnswer =
  | { readonly kind: 'res'; readonly res: Uint8Array }
  /** EMM cause 20: another key or a forged request. */
  | { readonly kind: 'mac_failure' }
  /** EMM cause 21, with the token that says which SQN the card holds. */
  | { readonly kind: 'synch_failure'; readonly auts: Uint8Array }
  /** EMM cause 26: the separation bit is not set. */
  | { readonly kind: 'not_eps' }

/** How an attach request ended. One that the network leaves unanswered never does. */
type AttachAnswer =
  | { readonly kind: 'accepted' }
  /** Attach Reject. */
  | { readonly kind: 'rejected'; readonly emmCause: number }
  | { readonly kind: 'authentication_reject' }

/** EMM states as the info API names them. */
type MmState =
  | 'deregistered'
  | 'registered'
  | 'authentication'
  | 'security_mode'
  | 'initial_context_setup'
  | 'exception'

/** What the MME knows of one phone. It stays after a detach and after a rejection. */
export interface UeContext {
  readonly imsi: string
  phone: PhonePort
  isConnected: boolean
  state: MmState
  /** S1AP ids of the last connection. */
  ostreamId: number
  mmeUeId: number
  enbUeId: number
  /** µs since the epoch. */
  locatedAtUs: number
  ambr: Ambr
  session: Session | undefined
  /** The attach under way. */
  procedure: Promise<unknown>
  /** Counts attaches, so that an old one changes nothing of a newer. */
  generation: number
}

/** The one eNB of the lab and the numbers it gives. */
export interface Enb {
  readonly enbId: number
  /** 28-bit E-UTRAN cell identity. TS 36.413 §9.2.1.38. */
  readonly cellId: number
  readonly plmn: string
  readonly tac: number
  /** Its address as the MME prints it. */
  readonly peer: string
  readonly maxOutStreams: number
}

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
interface AttachParts {
  readonly hss: Hss
  readonly sessions: Sessions
  readonly clock: LabClock
  /** One message over the air and through the core, ms. */
  readonly hopMs: number
  readonly log: DaemonLog
}

interface Attach {
  readonly context: UeContext
  readonly signal: AbortSignal
  readonly parts: AttachParts
  hop(): Promise<void>
  reject(emmCause: number): AttachAnswer
}

/** The EMM procedures of one attach, in order. TS 24.301 §5.5.1. */
async function attachProcedure(
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
async function abandoned(signal: AbortSignal): Promise<never> {
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

/** The MME as phones and the HSS reach it, and what it knows. */
export interface Mme extends HssRequests {
  /** Runs an attach. Never resolves when the network leaves it unanswered; rejects when `signal` aborts. */
  attach(imsi: string, phone: PhonePort, signal: AbortSignal): Promise<AttachAnswer>
  /** Detach Request of the phone. */
  detach(imsi: string): void
  /** The eNB releases the connection of an inactive or vanished phone. */
  release(imsi: string): void
  /** Service Request: false when the MME does not know the phone as registered. */
  serviceRequest(imsi: string): boolean
  /** The session that a phone can use at this moment; undefined while it has none, is idle, or has no radio. */
  bearerOf(imsi: string): Session | undefined
  readonly enb: Enb
  /** In the order of their first attach, those that are gone included. */
  contexts(): readonly UeContext[]
  /** The last SCTP stream that was given to a phone. */
  readonly lastOstreamId: number
  /** Whether the eNB is there. Without it phones lose their connections and nobody hears them. */
  readonly isRadioUp: boolean
  setRadio(isUp: boolean): void
}

export interface MmeOptions {
  readonly enb: Enb
  readonly hss: Hss
  readonly sessions: Sessions
  readonly clock: LabClock
  /** One message over the air and through the core, ms. */
  readonly hopMs: number
  /** What the daemon writes about it. */
  readonly log?: DaemonLog
}

export function makeMme({ enb, hss, sessions, clock, hopMs, log = () => {} }: MmeOptions): Mme {
  const contexts = new Map<string, UeContext>()
  const radio = s1Association(enb)
  const dropSession = (context: UeContext): void => {
    sessions.remove(context.imsi)
    context.session = undefined
  }
  const begin = (imsi: string, phone: PhonePort): UeContext => {
    const held = contexts.get(imsi) ?? newContext(imsi, phone)
    contexts.set(imsi, held)
    dropSession(held)
    radio.connect(held)
    Object.assign(held, { phone, state: 'authentication', locatedAtUs: clock.nowUs() })
    held.generation += 1
    return held
  }

  return {
    enb,
    attach: async (imsi, phone, signal) => {
      if (!radio.isUp) return await abandoned(signal)
      const context = begin(imsi, phone)
      const { generation } = context
      const procedure = attachProcedure(context, signal, { hss, sessions, clock, hopMs, log })
      context.procedure = procedure.catch(() => undefined)
      try {
        return await procedure
      } catch (error) {
        if (context.generation === generation) {
          dropSession(context)
          context.isConnected = false
        }
        throw error
      }
    },
    detach: (imsi) => {
      const context = contexts.get(imsi)
      if (context === undefined) return
      dropSession(context)
      Object.assign(context, { state: 'deregistered', isConnected: false })
    },
    release: (imsi) => {
      const context = contexts.get(imsi)
      if (context !== undefined) context.isConnected = false
    },
    serviceRequest: (imsi) => {
      const context = contexts.get(imsi)
      if (!radio.isUp || context?.state !== 'registered' || context.session === undefined) return false
      if (!context.isConnected) radio.connect(context)
      return true
    },
    bearerOf: (imsi) => {
      const context = contexts.get(imsi)
      return context?.isConnected === true && context.state === 'registered' ? context.session : undefined
    },
    cancelLocation: (imsi) => {
      const context = contexts.get(imsi)
      if (context !== undefined) void cancelLocation(context, { sessions, clock, hopMs, radio })
    },
    insertSubscriberData: (imsi, { ambr }) => {
      const context = contexts.get(imsi)
      // The new AMBR shows at once and takes effect at the next attach.
      if (context !== undefined) context.ambr = ambr
    },
    contexts: () => [...contexts.values()],
    get lastOstreamId() {
      return radio.lastOstreamId
    },
    get isRadioUp() {
      return radio.isUp
    },
    setRadio: (isUp) => {
      radio.set(isUp)
      if (!isUp) for (const context of contexts.values()) context.isConnected = false
    },
  }
}

/** The S1 association with the eNB, and the numbers that its connections get. */
function s1Association(enb: Enb) {
  let lastMmeUeId = 0
  let lastOstreamId = 0
  let isUp = true
  return {
    get isUp() {
      return isUp
    },
    get lastOstreamId() {
      return lastOstreamId
    },
    connect: (context: UeContext): void => {
      lastMmeUeId += 1
      lastOstreamId = lastOstreamId >= enb.maxOutStreams - 1 ? 1 : lastOstreamId + 1
      Object.assign(context, {
        isConnected: true,
        ostreamId: lastOstreamId,
        mmeUeId: lastMmeUeId,
        enbUeId: lastMmeUeId,
      })
    },
    set: (next: boolean): void => {
      isUp = next
      // A new association counts its streams anew.
      if (isUp) lastOstreamId = 0
    },
  }
}

/** Cancel Location of the HSS: the session goes at once, the phone is paged and told. TS 23.401 §5.3.8.4. */
async function cancelLocation(
  context: UeContext,
  {
    sessions,
    clock,
    hopMs,
    radio,
  }: Pick<MmeOptions, 'sessions' | 'clock' | 'hopMs'> & { readonly radio: ReturnType<typeof s1Association> },
): Promise<void> {
  await context.procedure
  if (context.state !== 'registered') return
  const { generation } = context
  sessions.remove(context.imsi)
  context.session = undefined
  await clock.sleep(hopMs)
  if (!context.isConnected && context.generation === generation) {
    if (!radio.isUp || !context.phone.paged()) return
    radio.connect(context)
  }
  const isAnswered = context.generation === generation && context.phone.detachRequested()
  if (isAnswered && context.generation === generation)
    Object.assign(context, { state: 'deregistered', isConnected: false })
}

function newContext(imsi: string, phone: PhonePort): UeContext {
  return {
    imsi,
    phone,
    isConnected: false,
    state: 'deregistered',
    ostreamId: 0,
    mmeUeId: 0,
    enbUeId: 0,
    locatedAtUs: 0,
    ambr: { downlink: 0, uplink: 0 },
    session: undefined,
    procedure: Promise.resolve(),
    generation: 0,
  }
}
