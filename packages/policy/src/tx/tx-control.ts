import {
  type Context,
  type MutationTx,
  type PolicyBundle,
  type Principal,
  type RadioProfile,
  sectionOf,
  type TxGate,
  type TxGateState,
  txGateClosed,
  txNotArmed,
} from '@steeple/contracts'
import { type CarrierBlock, carriersOf, isUsableCarrier, mhzFromKhz } from '@steeple/telecom'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { type ClosedGate, expiryMs } from '../spectrum/layers.ts'
import { type Arm, currentArm } from '../store.ts'
import { armCommands } from './arm-commands.ts'
import type { DisarmNote } from './disarm-note.ts'
import { carrierOfProfile, closedGates, disarmReasons, type GateBasis, gateState } from './gate-evaluation.ts'
import type { GateMemory, Remembering } from './gate-memory.ts'
import { notArmedText, refuseClosed, refuseWhileStopping, unstoredText } from './gate-refusals.ts'
import type { Transmitters } from './transmitters.ts'
import { TX_KEY, TX_RESOURCE } from './tx-resource.ts'
import { unstoredDisarms } from './unstored-disarms.ts'

/** What an armed transmitter looks like to the reconciler. */
export interface ArmReview {
  readonly arm: Arm
  /** Why it must go off; empty when it may stay. */
  readonly reasons: readonly string[]
  /** When the license that it stands on expires, ms since the epoch. */
  readonly expiresAtMs: number | undefined
}

/** The TX gate with its commands. They run inside the caller's mutation. */
export interface TxControl extends TxGate, Remembering {
  /**
   * Throws `tx_gate_closed`, `validation_failed` (unknown profile; an empty id: none is named), `invalid_transition` (another one
   * is armed).
   */
  arm(tx: MutationTx, principal: Principal, profileId: string): Promise<TxGateState>
  /** Throws `tx_gate_closed` when no configured profile could be armed. */
  refuseWhileClosed(): Promise<void>
  /** Writes the disarmed state, as of `atMs`. The caller has stopped the transmitter. Twice changes nothing. */
  disarm(tx: MutationTx, principal: Principal, atMs: number): Promise<void>
  /** The record of a disarm is on its way: nothing is permitted until the function that it returns says that this is over. */
  beginDisarm(): () => void
  /** The armed transmitter against the gates as they are now; undefined while disarmed. */
  review(): Promise<ArmReview | undefined>
  /** The configured profiles, each judged as an arm of it would be. */
  profiles(): Promise<readonly JudgedProfile[]>
  /**
   * Why an armed transmitter must go off by what was read last from the store; empty when it may stay. For the time in which
   * the store does not answer.
   */
  lastReasons(): readonly string[]
  /** Disarms for reasons that `review` gave, in the name of the service. */
  disarmItself(review: ArmReview): Promise<void>
  /**
   * From this turn on nothing may go on air until that disarm is stored. `review` gives it as a reason once no record of it is
   * on its way. True when it is on the disk, so that a restart keeps it.
   */
  hold(by: string, atMs: number): Promise<boolean>
  /** From this turn on nothing may go on air until the disarm that the service has begun itself is stored. */
  holdItself(): void
  /** Takes over what an earlier run has left in the note. */
  recall(): Promise<void>
  /** Nothing is permitted any more: the service ends. */
  close(): void
  /** Closes the interval of an armed transmitter and opens another one when the license it stands on has changed. */
  changeLicense(tx: MutationTx, before: PolicyBundle, after: PolicyBundle, by: string): Promise<void>
}

/** The TX gate over the policy in the store and the configuration. Every question is answered from both, anew. */
export function txControlOf(
  context: Context,
  policy: CurrentPolicy,
  transmitters: Transmitters,
  { memory, note }: { readonly memory: GateMemory; readonly note: DisarmNote },
): TxControl {
  const { db } = context
  const unstored = unstoredDisarms(context, memory, note)
  const basisOf = (bundle: PolicyBundle): GateBasis => basisUnder(context, bundle)
  const basisNow = async (): Promise<GateBasis> => basisOf(await policy.refresh())
  const armNow = async (): Promise<Arm | undefined> => {
    const arm = await currentArm(db)
    memory.lastArm = arm
    return arm
  }
  const reasonsOf = (basis: GateBasis, arm: Arm): readonly string[] => {
    const held = unstored.of(arm)
    const reasons = disarmReasons(basis, arm)
    return held === undefined ? reasons : [unstoredText(held), ...reasons]
  }
  const permit = async (profileId: string): Promise<RadioProfile> => {
    const { stops } = memory
    // Who disarms beside the service leaves it in the note.
    await unstored.look()
    const basis = await basisNow()
    const arm = await armNow()
    if (arm?.profileId !== profileId) throw txNotArmed(notArmedText(profileId, arm))
    const reasons = reasonsOf(basis, arm)
    if (reasons.length > 0) {
      context.enqueue(TX_RESOURCE, TX_KEY)
      throw txGateClosed(`TX may not go on air: ${reasons.join('; ')}`)
    }
    // Nothing is awaited between this look and the answer: a stop from here on reaches the one that is permitted.
    refuseWhileStopping(memory, stops)
    transmitters.permitted()
    return arm.profile
  }
  return {
    memory,
    ...armCommands(context, { policy, transmitters, memory, note, unstored, basisOf }),
    hold: unstored.hold,
    holdItself: unstored.holdItself,
    recall: unstored.recall,
    state: async () => gateState(await basisNow(), await armNow(), transmitters.state()),
    profiles: async () => judgedProfiles(await basisNow(), (await armNow())?.profileId),
    permit,
    refuseWhileClosed: async () => refuseClosed(await basisNow(), undefined),
    permitCarrier: async (carrier) => {
      refuseClosed(await basisNow(), carrier)
    },
    beginDisarm: () => {
      memory.disarms += 1
      return () => {
        memory.disarms -= 1
        // A permit that has read the arm before the record was in is none.
        memory.stops += 1
        if (memory.unstored !== undefined) context.enqueue(TX_RESOURCE, TX_KEY)
      }
    },
    review: async () => {
      const basis = await basisNow()
      const arm = await armNow()
      // What a record on its way says it says itself.
      const isOnItsWay = memory.disarms > 0
      if (!isOnItsWay && (arm === undefined || unstored.of(arm) === undefined)) void unstored.forget()
      if (arm === undefined) return undefined
      const reasons = isOnItsWay ? disarmReasons(basis, arm) : reasonsOf(basis, arm)
      return { arm, reasons, expiresAtMs: expiryMs(basis.spectrum.license) }
    },
    lastReasons: () => {
      const { lastArm } = memory
      return lastArm === undefined ? [] : reasonsOf(basisOf(policy.bundle()), lastArm)
    },
    close: () => {
      memory.isClosed = true
    },
  }
}

function basisUnder({ settings, clock }: Context, { spectrum }: PolicyBundle): GateBasis {
  const profiles = sectionOf(settings, 'ran').profiles ?? {}
  return { country: settings.server.country, profiles, spectrum, nowMs: clock.nowMs() }
}

/** One side of a carrier, MHz. */
interface BlockRecord {
  readonly low_mhz: number
  readonly high_mhz: number
}

/** A configured radio profile, where its carrier lies, and whether it may be armed now. */
interface JudgedProfile {
  readonly id: string
  readonly technology: RadioProfile['technology']
  readonly channel: number
  /** The band that the profile names, else the first in which its channel is one; null: there is none. */
  readonly band: string | null
  readonly bandwidth_mhz: number
  readonly eirp_dbm: number | null
  readonly downlink: BlockRecord | null
  readonly uplink: BlockRecord | null
  readonly armed: boolean
  /** Empty when it may be armed. */
  readonly closed: readonly ClosedGate[]
}

/** All configured profiles in the order of the configuration, each judged as an arm of it would be. */
function judgedProfiles(basis: GateBasis, armedId: string | undefined): readonly JudgedProfile[] {
  return Object.entries(basis.profiles).map(([id, profile]) => {
    const { band, bandwidthMhz } = carrierOfProfile(profile)
    const carriers = carriersOf(profile.technology, profile.channel, { band, bandwidthMhz })
    const carrier = carriers.find((one) => isUsableCarrier(one) && one.downlink !== undefined) ?? carriers[0]
    return {
      id,
      technology: profile.technology,
      channel: profile.channel,
      band: profile.band ?? carrier?.band ?? null,
      bandwidth_mhz: profile.bandwidth_mhz,
      eirp_dbm: profile.eirp_dbm ?? null,
      downlink: blockRecord(carrier?.downlink),
      uplink: blockRecord(carrier?.uplink),
      armed: id === armedId,
      closed: closedGates(basis, carrierOfProfile(profile)),
    }
  })
}

function blockRecord(block: CarrierBlock | undefined): BlockRecord | null {
  if (block === undefined) return null
  return { low_mhz: mhzFromKhz(block.lowKhz), high_mhz: mhzFromKhz(block.highKhz) }
}
