import { randomUUID } from 'node:crypto'
import {
  type CarrierRequest,
  type Context,
  invalidTransition,
  lifecycleRef,
  type MutationTx,
  type PolicyBundle,
  type Principal,
  type RadioProfile,
  systemPrincipal,
  type TxGate,
  type TxGateState,
  txGateClosed,
  txNotArmed,
  validationFailed,
} from '@steeple/contracts'
import { isSame } from '../bundle/changed-keys.ts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { principalText } from '../principal-text.ts'
import { type ClosedGate, expiryMs } from '../spectrum/layers.ts'
import { type Arm, currentArm, endArm, startArm } from '../store.ts'
import {
  carrierOfProfile,
  closedGates,
  disarmReasons,
  type GateBasis,
  gateState,
  profileOf,
} from './gate-evaluation.ts'
import type { Transmitters } from './transmitters.ts'

/** The reconciler of the gate and its one key. */
export const TX_RESOURCE = 'tx_gate'
export const TX_KEY = 'gate'

const HELD = 'a disarm was asked for and could not be stored yet'

/** What an armed transmitter looks like to the reconciler. */
export interface ArmReview {
  readonly arm: Arm
  /** Why it must go off; empty when it may stay. */
  readonly reasons: readonly string[]
  /** When the license that it stands on expires, ms since the epoch. */
  readonly expiresAtMs: number | undefined
}

/** The TX gate with its commands. They run inside the caller's mutation. */
export interface TxControl extends TxGate {
  /** Throws `tx_gate_closed`, `validation_failed` (unknown profile), `invalid_transition` (another one is armed). */
  arm(tx: MutationTx, principal: Principal, profileId: string): Promise<TxGateState>
  /** Writes the disarmed state. The caller stops the transmitter after the commit. Disarming twice changes nothing. */
  disarm(tx: MutationTx, principal: Principal): Promise<void>
  /** The armed transmitter against the gates as they are now; undefined while disarmed. */
  review(): Promise<ArmReview | undefined>
  /** Disarms for reasons that `review` gave, in the name of the service. */
  disarmItself(review: ArmReview): Promise<void>
  /**
   * Nothing may go on air until a disarm that could not be stored is stored; `review` gives it as a reason. In memory:
   * a transmitter does not outlive the process that holds it.
   */
  hold(): void
  /** Closes the interval of an armed transmitter and opens another one when the license it stands on has changed. */
  changeLicense(tx: MutationTx, before: PolicyBundle, after: PolicyBundle, by: string): Promise<void>
}

/** The TX gate over the policy in the store and the configuration. Every question is answered from both, anew. */
export function txControlOf(context: Context, policy: CurrentPolicy, transmitters: Transmitters): TxControl {
  const { db, clock } = context
  let isHeld = false
  const basisOf = (bundle: PolicyBundle): GateBasis => ({
    country: context.settings.server.country,
    profiles: context.settings.ran.profiles,
    spectrum: bundle.spectrum,
    nowMs: clock.nowMs(),
  })
  const basisNow = async (): Promise<GateBasis> => basisOf(await policy.refresh())
  const reasonsOf = (basis: GateBasis, arm: Arm): readonly string[] =>
    isHeld ? [HELD, ...disarmReasons(basis, arm)] : disarmReasons(basis, arm)
  const end = async (tx: MutationTx, arm: Arm, by: string, reason: string): Promise<void> => {
    await endArm(tx, arm, { atMs: clock.nowMs(), by, reason })
    await context.maybe(lifecycleRef)?.txDisarmed(tx)
    tx.dirty(TX_RESOURCE, TX_KEY)
    tx.afterCommit(() => {
      isHeld = false
    })
  }
  return {
    state: async () => gateState(await basisNow(), await currentArm(db)),
    permit: async (profileId) => {
      const basis = await basisNow()
      const arm = await currentArm(db)
      if (arm?.profileId !== profileId) throw txNotArmed(notArmedText(profileId, arm))
      const reasons = reasonsOf(basis, arm)
      if (reasons.length === 0) return arm.profile
      context.enqueue(TX_RESOURCE, TX_KEY)
      throw txGateClosed(`TX may not go on air: ${reasons.join('; ')}`)
    },
    permitCarrier: async (carrier) => {
      refuseClosed(await basisNow(), carrier)
    },
    arm: async (tx, principal, profileId) => {
      if (isHeld) throw invalidTransition(`TX cannot be armed now: ${HELD}`)
      const bundle = await policy.read(tx)
      const basis = basisOf(bundle)
      const profile = openProfile(basis, profileId)
      const armed = await currentArm(tx)
      if (armed !== undefined) {
        refuseSwitch(armed, profileId, profile, basis.country)
        tx.audit({ detail: { arm: true, profile: profileId, changed: false } })
        return gateState(basis, armed)
      }
      const { license } = bundle.spectrum
      const arm: Arm = {
        intervalId: randomUUID(),
        profileId,
        profile,
        country: basis.country,
        armedAtMs: basis.nowMs,
        armedBy: principalText(principal),
      }
      await startArm(tx, arm, license)
      await context.maybe(lifecycleRef)?.txArmed(tx)
      tx.audit({ detail: { arm: true, ...armFacts(arm), license: license.reference, changed: true } })
      tx.dirty(TX_RESOURCE, TX_KEY)
      tx.afterCommit(() => transmitters.allow())
      return gateState(basis, arm)
    },
    disarm: async (tx, principal) => {
      const arm = await currentArm(tx)
      tx.audit({ detail: { arm: false, profile: arm?.profileId ?? null, changed: arm !== undefined } })
      if (arm !== undefined) await end(tx, arm, principalText(principal), 'disarmed')
    },
    review: async () => {
      const basis = await basisNow()
      const arm = await currentArm(db)
      if (arm === undefined) {
        isHeld = false
        return undefined
      }
      return { arm, reasons: reasonsOf(basis, arm), expiresAtMs: expiryMs(basis.spectrum.license) }
    },
    disarmItself: async ({ arm, reasons }) => {
      const system = systemPrincipal(TX_RESOURCE)
      await context.mutate(system, 'tx.auto_disarm', arm.profileId, async (tx) => {
        const still = await currentArm(tx)
        const isSameArm = still?.intervalId === arm.intervalId
        tx.audit({ detail: { ...armFacts(arm), reasons, changed: isSameArm } })
        tx.event({
          type: 'tx.auto_disarmed',
          subject: arm.profileId,
          data: { ...armFacts(arm), reasons },
        })
        if (isSameArm) await end(tx, arm, principalText(system), reasons.join('; '))
      })
      context.log.error({ profile: arm.profileId, reasons }, 'TX disarmed because its legal basis is gone')
    },
    hold: () => {
      isHeld = true
      context.enqueue(TX_RESOURCE, TX_KEY)
    },
    changeLicense: async (tx, before, after, by) => {
      const [old, next] = [before.spectrum.license, after.spectrum.license]
      if (old.reference === next.reference && old.holder === next.holder) return
      const arm = await currentArm(tx)
      if (arm === undefined) return
      const atMs = clock.nowMs()
      await endArm(tx, arm, { atMs, by, reason: 'another license' })
      await startArm(tx, { ...arm, intervalId: randomUUID(), armedAtMs: atMs, armedBy: by }, next)
    },
  }
}

function openProfile(basis: GateBasis, profileId: string): RadioProfile {
  const profile = profileOf(basis.profiles, profileId)
  refuseClosed(basis, profile === undefined ? undefined : carrierOfProfile(profile))
  if (profile !== undefined) return profile
  const known = Object.keys(basis.profiles).join(', ') || 'none'
  const message = `there is no radio profile ${profileId}; configured under ran.profiles: ${known}`
  throw validationFailed(message, { details: [{ pointer: '/profile_id', message }] })
}

function refuseClosed(basis: GateBasis, carrier: CarrierRequest | undefined): void {
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

function refuseSwitch(armed: Arm, profileId: string, profile: RadioProfile, country: string): void {
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

function notArmedText(profileId: string, arm: Arm | undefined): string {
  const state = arm === undefined ? 'TX is not armed' : `TX is armed with profile ${arm.profileId}`
  return `${state}; ${profileId} may not go on air before POST /v1/tx/arm has armed it`
}

function armFacts(arm: Arm): Readonly<Record<string, unknown>> {
  const { technology, channel, band, bandwidth_mhz, eirp_dbm } = arm.profile
  return {
    profile: arm.profileId,
    technology,
    channel,
    band: band ?? null,
    bandwidth_mhz,
    eirp_dbm: eirp_dbm ?? null,
    country: arm.country,
  }
}
