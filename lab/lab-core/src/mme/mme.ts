import type { LabClock } from '../clock.ts'
import type { HssRequests } from '../hss/change-stream.ts'
import type { Hss } from '../hss/hss.ts'
import type { DaemonLog } from '../info/daemon-log.ts'
import type { Session, Sessions } from '../smf/sessions.ts'
import type { AttachAnswer, PhonePort } from './air.ts'
import { abandoned, attachProcedure } from './attach-procedure.ts'
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

/** What an MME needs. */
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

/** An MME with one eNB. */
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
interface S1Association {
  readonly isUp: boolean
  readonly lastOstreamId: number
  connect(context: UeContext): void
  set(isUp: boolean): void
}

function s1Association(enb: Enb): S1Association {
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
    connect: (context) => {
      lastMmeUeId += 1
      lastOstreamId = lastOstreamId >= enb.maxOutStreams - 1 ? 1 : lastOstreamId + 1
      Object.assign(context, {
        isConnected: true,
        ostreamId: lastOstreamId,
        mmeUeId: lastMmeUeId,
        enbUeId: lastMmeUeId,
      })
    },
    set: (next) => {
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
  }: Pick<MmeOptions, 'sessions' | 'clock' | 'hopMs'> & { readonly radio: S1Association },
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
