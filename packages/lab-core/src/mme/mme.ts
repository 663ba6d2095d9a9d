import type { LabClock } from '../clock.ts'
import type { HssRequests } from '../hss/change-stream.ts'
import type { Hss, S6aError } from '../hss/hss.ts'
import type { AuthVector, Resync } from '../hss/vector.ts'
import type { Sessions } from '../smf/sessions.ts'
import type { AttachAnswer, PhonePort } from './air.ts'
import type { Enb, UeContext } from './ue-context.ts'

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
  readonly enb: Enb
  /** In the order of their first attach, those that are gone included. */
  contexts(): readonly UeContext[]
  /** The last SCTP stream that was given to a phone. */
  readonly lastOstreamId: number
  /** Whether the eNB is there. Without it phones lose their connections and nobody hears them. */
  readonly isRadioUp: boolean
  setRadio(isUp: boolean): void
}

/** What an MME needs. */
export interface MmeOptions {
  readonly enb: Enb
  readonly hss: Hss
  readonly sessions: Sessions
  readonly clock: LabClock
  /** One message over the air and through the core, ms. */
  readonly hopMs: number
}

/** TS 24.301 §9.9.3.9. */
const CAUSE_EPS_AND_NON_EPS_NOT_ALLOWED = 8
const CAUSE_ESM_FAILURE = 19
const IDENTITY = { host: 'mme.localdomain', realm: 'localdomain' }

/** An MME with one eNB. */
export function makeMme({ enb, hss, sessions, clock, hopMs }: MmeOptions): Mme {
  const contexts = new Map<string, UeContext>()
  let lastMmeUeId = 0
  let lastOstreamId = 0
  let isRadioUp = true

  const connect = (context: UeContext): void => {
    lastMmeUeId += 1
    lastOstreamId = lastOstreamId >= enb.maxOutStreams - 1 ? 1 : lastOstreamId + 1
    Object.assign(context, {
      isConnected: true,
      ostreamId: lastOstreamId,
      mmeUeId: lastMmeUeId,
      enbUeId: lastMmeUeId,
    })
  }
  const dropSession = (context: UeContext): void => {
    sessions.remove(context.imsi)
    context.session = undefined
  }
  const begin = (imsi: string, phone: PhonePort): UeContext => {
    const held = contexts.get(imsi) ?? newContext(imsi, phone)
    contexts.set(imsi, held)
    dropSession(held)
    connect(held)
    Object.assign(held, { phone, state: 'authentication', locatedAtUs: clock.nowUs() })
    held.generation += 1
    return held
  }

  /** The EMM procedures of one attach, in order. TS 24.301 §5.5.1. */
  const attachOf = async (context: UeContext, signal: AbortSignal): Promise<AttachAnswer> => {
    const { imsi, phone } = context
    const hop = (): Promise<void> => clock.sleep(hopMs, signal)
    const end = (answer: AttachAnswer): AttachAnswer => {
      Object.assign(context, { state: 'exception', isConnected: false })
      return answer
    }
    await hop()
    const challenge = async (resync: Resync | undefined): Promise<AttachAnswer | undefined> => {
      const vector: AuthVector | S6aError = await hss.authentication(imsi, resync)
      signal.throwIfAborted()
      if (typeof vector === 'string') return { kind: 'rejected', emmCause: CAUSE_EPS_AND_NON_EPS_NOT_ALLOWED }
      await hop()
      const answer = phone.authenticate(vector.rand, vector.autn)
      await hop()
      if (answer.kind === 'res' && Buffer.from(vector.xres).equals(answer.res)) return undefined
      // Once only: a card that refuses twice has another problem.
      if (answer.kind === 'synch_failure' && resync === undefined)
        return await challenge({ rand: vector.rand, auts: answer.auts })
      return { kind: 'authentication_reject' }
    }
    const refusal = await challenge(undefined)
    if (refusal !== undefined) return end(refusal)
    context.state = 'security_mode'
    await hop()
    const subscription = await hss.updateLocation(imsi, { ...IDENTITY, imeisv: phone.imeisv })
    signal.throwIfAborted()
    if (subscription === 'user_unknown')
      return end({ kind: 'rejected', emmCause: CAUSE_EPS_AND_NON_EPS_NOT_ALLOWED })
    context.state = 'initial_context_setup'
    // As the real MME does over a subscriber without a slice: it forgets to answer.
    if (subscription === 'unknown_eps_subscription') return await abandoned(signal)
    context.ambr = subscription.ambr
    const [apn] = subscription.apns
    const session = apn === undefined ? undefined : sessions.create(imsi, apn)
    if (session === undefined) return end({ kind: 'rejected', emmCause: CAUSE_ESM_FAILURE })
    context.session = session
    await hop()
    context.state = 'registered'
    return { kind: 'accepted' }
  }

  const cancel = async (context: UeContext): Promise<void> => {
    await context.procedure
    if (context.state !== 'registered') return
    const { generation } = context
    dropSession(context)
    await clock.sleep(hopMs)
    if (!context.isConnected && context.generation === generation) {
      if (!isRadioUp || !context.phone.paged()) return
      connect(context)
    }
    const isAnswered = context.generation === generation && context.phone.detachRequested()
    if (isAnswered && context.generation === generation)
      Object.assign(context, { state: 'deregistered', isConnected: false })
  }

  return {
    enb,
    attach: async (imsi, phone, signal) => {
      if (!isRadioUp) return await abandoned(signal)
      const context = begin(imsi, phone)
      const { generation } = context
      const procedure = attachOf(context, signal)
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
      if (!isRadioUp || context?.state !== 'registered' || context.session === undefined) return false
      if (!context.isConnected) connect(context)
      return true
    },
    cancelLocation: (imsi) => {
      const context = contexts.get(imsi)
      if (context !== undefined) void cancel(context)
    },
    insertSubscriberData: (imsi, { ambr }) => {
      const context = contexts.get(imsi)
      // The new AMBR shows at once and takes effect at the next attach.
      if (context !== undefined) context.ambr = ambr
    },
    contexts: () => [...contexts.values()],
    get lastOstreamId() {
      return lastOstreamId
    },
    get isRadioUp() {
      return isRadioUp
    },
    setRadio: (isUp) => {
      isRadioUp = isUp
      if (!isUp) for (const context of contexts.values()) context.isConnected = false
      // A new S1 association counts its streams anew.
      else lastOstreamId = 0
    },
  }
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

/** Nothing, until the phone gives up. */
async function abandoned(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  signal.throwIfAborted()
  return await promise
}
