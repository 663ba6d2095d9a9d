import { type Imsi, type ServiceRef, serviceRef } from '@steeple/contracts'

/** One registration of a subscriber, as the AMF's OAM service lists it. Two accesses make two. */
export interface Registration {
  readonly imsi: Imsi
  /** `999-70`; undefined where it is none. */
  readonly plmn: string | undefined
  readonly isConnected: boolean
  readonly sessions: readonly PduSession[]
}

/** A PDU session; it may carry no traffic. */
export interface PduSession {
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

/** What a free5GC core tells of its phones. Everything throws `southbound_unavailable` when it cannot be asked. */
export interface Free5gcOam {
  /** What the AMF lists; an answer of at most `ageMs` ago will do. */
  registrations(ageMs: number, signal: AbortSignal): Promise<RegistrationList>
  /** A session by the AMF's reference to it; undefined when the SMF does not have it. */
  session(ref: string, signal: AbortSignal): Promise<SmfSession | undefined>
}

/** Provided by the driver of the core, which asks it for its own sake too. */
export const free5gcOamRef: ServiceRef<Free5gcOam> = serviceRef<Free5gcOam>('free5gc.oam', {
  registrations: 'function',
  session: 'function',
})
