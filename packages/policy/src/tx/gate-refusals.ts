import {
  type CarrierRequest,
  invalidTransition,
  type RadioProfile,
  timestampFromMs,
  txGateClosed,
} from '@steeple/contracts'
import { isSame } from '../bundle/changed-keys.ts'
import { wrong } from '../spectrum/asked.ts'
import type { ClosedGate } from '../spectrum/layers.ts'
import type { Arm } from '../store.ts'
import { carrierOfProfile, closedGates, type GateBasis, profileOf } from './gate-evaluation.ts'
import type { GateMemory, UnstoredDisarm } from './gate-memory.ts'
import type { Transmitters } from './transmitters.ts'

/** Why TX must go off although it is armed in the store. */
export function unstoredText({ by, atMs }: UnstoredDisarm): string {
  return `${by} has disarmed TX at ${timestampFromMs(atMs)}, which the store did not have yet`
}

/** Throws `tx_gate_closed` when a stop is going on, or has come since a permit was asked for: then there were `stops`. */
export function refuseWhileStopping(memory: GateMemory, stops: number): void {
  if (memory.isClosed) throw txGateClosed('TX may not go on air: the service is stopping')
  if (memory.disarms > 0) throw txGateClosed('TX may not go on air: it is being disarmed')
  if (memory.stops !== stops) throw txGateClosed('TX may not go on air: it was told to stop meanwhile')
}

/** Refuses an arm while a disarm before it is not over: not stored, or not confirmed by the transmitter. */
export function refuseUnsettled({ unstored }: GateMemory, transmitters: Transmitters): void {
  if (unstored !== undefined)
    throw invalidTransition(`TX cannot be armed now: ${unstoredText(unstored)}; try again later`)
  if (!transmitters.isAwaited()) return
  throw invalidTransition(
    'TX cannot be armed now: a transmitter has not confirmed its stop yet; wait until GET /v1/tx/arm shows that it has',
  )
}

/** The profile when all gates are open for it. Throws `tx_gate_closed` first, then `validation_failed` (unknown or no profile). */
export function openProfile(basis: GateBasis, profileId: string): RadioProfile {
  const profile = profileOf(basis.profiles, profileId)
  refuseClosed(basis, profile === undefined ? undefined : carrierOfProfile(profile))
  if (profile !== undefined) return profile
  const known = Object.keys(basis.profiles).join(', ') || 'none'
  const which = profileId === '' ? 'profile_id is required to arm' : `there is no radio profile ${profileId}`
  throw wrong('/profile_id', `${which}; known profiles: ${known}`)
}

/** Throws `validation_failed` when the radio can never be on air with that profile. */
export function refuseUnfit(problems: readonly string[], profileId: string): void {
  if (problems.length === 0) return
  throw wrong('/profile_id', `the radio cannot send profile ${profileId}: ${problems.join('; ')}`)
}

/** Throws `tx_gate_closed` naming each layer that keeps the carrier (any configured one when absent) off the air. */
export function refuseClosed(basis: GateBasis, carrier: CarrierRequest | undefined): void {
  const closed = closedGates(basis, carrier)
  if (closed.length === 0) return
  const names = closed.map(({ gate, reason }) => `${gate} (${reason})`).join('; ')
  throw txGateClosed(`the TX gate is closed: ${names}`, { details: closed.map(gateDetail) })
}

const GATE_FIELDS: Readonly<Record<ClosedGate['gate'], string>> = {
  'country-code': 'country_code',
  license: 'license_ack',
  'allow-list': 'allow_list',
}

/** Points into the TX gate state, where the same gate says `missing`. */
function gateDetail({ gate, reason }: ClosedGate): { readonly pointer: string; readonly message: string } {
  return { pointer: `/gates/${GATE_FIELDS[gate]}`, message: `${gate}: ${reason}` }
}

/** Throws `invalid_transition` when something else than that profile, as it is now, is armed. */
export function refuseSwitch(armed: Arm, profileId: string, profile: RadioProfile, country: string): void {
  if (armed.profileId !== profileId) {
    throw invalidTransition(
      `TX is armed with profile ${armed.profileId}; disarm it before arming ${profileId}`,
    )
  }
  if (!isSame(armed.profile, profile) || armed.country !== country) {
    throw invalidTransition(
      `profile ${profileId} has changed since TX was armed with it; disarm, then arm again`,
    )
  }
}

/** Why that profile may not go on air, which is not the armed one. */
export function notArmedText(profileId: string, arm: Arm | undefined): string {
  const state = arm === undefined ? 'TX is not armed' : `TX is armed with profile ${arm.profileId}`
  return `${state}; ${profileId} may not go on air before POST /v1/tx/arm has armed it`
}
