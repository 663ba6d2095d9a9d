import {
  type Context,
  isServiceError,
  type RadioProfile,
  storeCorrupt,
  txGateClosed,
  txGateRef,
  txNotArmed,
} from '@steeple/contracts'
import { isVirtualDevice } from '../render/radio-input.ts'

/** What should be on air. */
export type DesiredRadio =
  | { readonly isOn: false; readonly reason: string }
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
export async function desiredRadio(context: Pick<Context, 'use' | 'settings'>): Promise<DesiredRadio> {
  const permitted = await permittedRadio(context)
  return permitted.isOn ? permitted : virtualRadio(context, permitted)
}

async function permittedRadio(context: Pick<Context, 'use'>): Promise<DesiredRadio> {
  const gate = context.use(txGateRef)
  try {
    const { armed, profile: profileId } = await gate.state()
    if (!armed || profileId === undefined) return { isOn: false, reason: 'TX is not armed' }
    return { isOn: true, profileId, profile: await gate.permit(profileId), isVirtual: false }
  } catch (error) {
    if (isServiceError(error) && CLOSED.has(error.code)) return { isOn: false, reason: error.message }
    throw error
  }
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
  const without = (why: string): DesiredRadio => ({
    isOn: false,
    reason: `${refusal.reason}; ran.virtual_profile ${profileId} does not run: ${why}`,
  })
  if (server.mode !== 'lab') return without('server.mode is not lab')
  if (!isVirtualDevice(ran)) return without('ran.device_name is not zmq')
  if (profile === undefined) return without('ran.profiles has no such profile')
  return { isOn: true, profileId, profile, isVirtual: true }
}
