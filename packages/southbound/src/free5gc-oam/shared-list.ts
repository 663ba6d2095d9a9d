import { type Clock, type Imsi, type ServiceRef, serviceRef, untilAborted } from '@steeple/contracts'

/** One registration of a subscriber, as the AMF's OAM service lists it. Two accesses make two. */
export interface Registration {
  readonly imsi: Imsi
  /** `999-70`; undefined where it is none. */
  readonly plmn: string | undefined
  readonly isConnected: boolean
  readonly sessions: readonly SmContext[]
}

/** A PDU session; it may carry no traffic. */
export interface SmContext {
  /** The SMF's name for it, `urn:uuid:…`; stable for its life. */
  readonly ref: string
  readonly dnn: string
}

/** Every registration, in the order of the IMSIs. */
export interface RegistrationList {
  readonly registrations: readonly Registration[]
  /** When the AMF was asked, ms since the epoch. */
  readonly askedMs: number
}

/** What the SMF says of a session. */
export interface SmfSession {
  /** IPv4 address of the phone; undefined while it has none. */
  readonly address: string | undefined
}

/** The CHF as it runs now. */
export interface ChargingRun {
  /** Another one after each of its starts; undefined while none is there to charge a session that begins. */
  readonly run: string | undefined
  /** The SMF has started later, so that every session has begun in this run. */
  readonly isOlderThanSessions: boolean
}

/** What a free5GC core tells of its phones. Everything throws `southbound_unavailable` when it cannot be asked. */
export interface Free5gcOam {
  /** What the AMF lists; an answer of at most `ageMs` ago will do. */
  registrations(ageMs: number, signal: AbortSignal): Promise<RegistrationList>
  /** A session by the AMF's reference to it; undefined when the SMF does not have it. */
  session(ref: string, signal: AbortSignal): Promise<SmfSession | undefined>
  /** Undefined where there is no CHF, or nobody can tell. A CHF forgets its sessions when it ends. */
  charging(signal: AbortSignal): Promise<ChargingRun | undefined>
  /** Says whose sessions the CHF does not know, as of now: nothing counts them until they begin again. */
  uncharged(phones: readonly Imsi[]): void
}

/** Provided by the driver of the core, which asks it for its own sake too. */
export const free5gcOamRef: ServiceRef<Free5gcOam> = serviceRef<Free5gcOam>('free5gc.oam', {
  registrations: 'function',
  session: 'function',
  charging: 'function',
  uncharged: 'function',
})

/** How long the AMF may take to list everybody, ms. */
const LIST_MS = 30_000

/** One list for all who want it. */
export interface SharedList {
  /** One that was asked for at most `ageMs` ago, or the one that is being asked for. */
  recent(ageMs: number, signal: AbortSignal): Promise<RegistrationList>
}

/** Shares what `list` gives: who stops waiting does not end it for the others. */
export function sharedList(
  clock: Clock,
  list: (signal: AbortSignal) => Promise<readonly Registration[]>,
): SharedList {
  let last: (RegistrationList & { readonly beganMs: number }) | undefined
  let listing: Promise<RegistrationList> | undefined
  const begin = async (): Promise<RegistrationList> => {
    const [beganMs, askedMs] = [clock.monotonicMs(), clock.nowMs()]
    try {
      last = { registrations: await list(AbortSignal.timeout(LIST_MS)), askedMs, beganMs }
      return last
    } finally {
      listing = undefined
    }
  }
  return {
    recent: async (ageMs, signal) => {
      signal.throwIfAborted()
      if (last !== undefined && ageMs > 0 && clock.monotonicMs() - last.beganMs <= ageMs) return last
      listing ??= begin()
      return await untilAborted(listing, signal)
    },
  }
}
