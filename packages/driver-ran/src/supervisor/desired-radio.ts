import {
  type Context,
  isServiceError,
  type RadioProfile,
  storeCorrupt,
  txGateClosed,
  txGateRef,
  txNotArmed,
} from '@steeple/contracts'
import { abortable } from '@steeple/southbound'
import { isVirtualDevice } from '../render/radio-input.ts'

/** Whether two profiles mean the same carrier with the same power, in whatever order their keys are. */
function isSameProfile(a: RadioProfile, b: RadioProfile): boolean {
  return canonical(a) === canonical(b)
}

function canonical(profile: RadioProfile): string {
  return JSON.stringify(Object.entries(profile).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Whether both are the same profile by name and by content. */
export function isSameCarrier(a: NamedProfile, b: NamedProfile): boolean {
  return a.profileId === b.profileId && isSameProfile(a.profile, b.profile)
}

interface NamedProfile {
  readonly profileId: string
  readonly profile: RadioProfile
}

/** What should be on air. */
export type DesiredRadio =
  | {
      readonly isOn: false
      readonly reason: string
      /** A profile is armed, and the gate keeps it off. */
      readonly isArmed: boolean
    }
  | {
      readonly isOn: true
      readonly profileId: string
      readonly profile: RadioProfile
      /** Runs without an armed gate, on a device that emits nothing. */
      readonly isVirtual: boolean
    }

/** Codes with which the gate says no. */
const CLOSED: ReadonlySet<string> = new Set([txNotArmed.code, txGateClosed.code, storeCorrupt.code])

/**
 * Asks the gate what may be on air now: the armed profile, else the virtual one of a lab, else nothing.
 *
 * Throws what the gate throws when it cannot be asked; nothing is started then.
 */
async function desiredRadio(context: Pick<Context, 'use' | 'settings'>): Promise<DesiredRadio> {
  const permitted = await permittedRadio(context)
  return permitted.isOn ? permitted : virtualRadio(context, permitted)
}

/** Throws `tx_not_armed` unless that very profile may go on air now. */
export async function requirePermit(
  context: Pick<Context, 'use' | 'settings'>,
  profile: RadioProfile,
  what: 'radio' | 'cell',
): Promise<void> {
  const desired = await desiredRadio(context)
  if (!desired.isOn) throw txNotArmed(`the ${what} may not go on air: ${desired.reason}`)
  if (!isSameProfile(desired.profile, profile))
    throw txNotArmed(`only the armed profile ${desired.profileId} may go on air`)
}

async function permittedRadio(context: Pick<Context, 'use'>): Promise<DesiredRadio> {
  const gate = context.use(txGateRef)
  try {
    const { armed, profile: profileId } = await gate.state()
    if (!armed || profileId === undefined) return off('TX is not armed', false)
    return { isOn: true, profileId, profile: await gate.permit(profileId), isVirtual: false }
  } catch (error) {
    if (isServiceError(error) && CLOSED.has(error.code))
      return off(error.message, error.code === txGateClosed.code)
    throw error
  }
}

function off(reason: string, isArmed: boolean): Extract<DesiredRadio, { isOn: false }> {
  return { isOn: false, reason, isArmed }
}

/** The virtual radio of a lab, or why there is none. */
function virtualRadio(
  { settings }: Pick<Context, 'settings'>,
  refusal: Extract<DesiredRadio, { isOn: false }>,
): DesiredRadio {
  const { ran, server } = settings
  const profileId = ran.virtual_profile
  const profile = ran.profiles[profileId]
  if (profileId === '') return refusal
  const without = (why: string): DesiredRadio =>
    off(`${refusal.reason}; ran.virtual_profile ${profileId} does not run: ${why}`, refusal.isArmed)
  if (ran.program === 'external') return without('ran.program is external, which is never virtual')
  if (server.mode !== 'lab') return without('server.mode is not lab')
  if (!isVirtualDevice(ran)) return without('ran.device_name is not zmq')
  if (profile === undefined) return without('ran.profiles has no such profile')
  return { isOn: true, profileId, profile, isVirtual: true }
}

/** A gate that cannot be asked for so long counts as closed, ms. */
const SILENCE_MS = 30_000
/** How long one answer of the gate may take, ms: for a step, and for what is only shown. */
const STEP_BOUND_MS = 5_000
const SHOWN_BOUND_MS = 500

/** The gate's answers, and how long there has been none. */
export interface GateQuestion {
  /** The last answer. */
  readonly desired: DesiredRadio | undefined
  /** Asks. Throws what the gate throws, or when it takes too long. */
  ask(): Promise<DesiredRadio>
  /** Asks for what is shown: without an answer in time the last one stays. */
  refresh(): Promise<void>
  /** Whether it has not answered for so long that it counts as closed. */
  isSilent(): boolean
}

/** A gate that has just answered nothing yet. */
export function gateQuestion(
  context: Pick<Context, 'use' | 'settings' | 'clock' | 'retiring'>,
): GateQuestion {
  const { clock } = context
  let heardMs = clock.monotonicMs()
  let desired: DesiredRadio | undefined
  const answer = async (boundMs: number): Promise<DesiredRadio> => {
    const found = await abortable(desiredRadio(context), context.retiring, boundMs)
    heardMs = clock.monotonicMs()
    desired = found
    return found
  }
  return {
    get desired() {
      return desired
    },
    ask: () => answer(STEP_BOUND_MS),
    refresh: async () => {
      try {
        await answer(SHOWN_BOUND_MS)
      } catch {
        // The next step says why, and how long that is borne.
      }
    },
    isSilent: () => clock.monotonicMs() - heardMs > SILENCE_MS,
  }
}
