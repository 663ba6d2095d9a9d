import type { Ambr } from '../hss/subscription.ts'
import type { Session } from '../smf/sessions.ts'
import type { PhonePort } from './air.ts'

/** EMM states as the info API names them. */
export type MmState =
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
