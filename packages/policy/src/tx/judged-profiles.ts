import type { RadioProfile } from '@steeple/contracts'
import { type CarrierBlock, carriersOf, isUsableCarrier, mhzFromKhz } from '@steeple/telecom'
import type { ClosedGate } from '../spectrum/layers.ts'
import { carrierOfProfile, closedGates, type GateBasis } from './gate-evaluation.ts'

/** One side of a carrier, MHz. */
export interface BlockRecord {
  readonly low_mhz: number
  readonly high_mhz: number
}

/** A configured radio profile, where its carrier lies, and whether it may be armed now. */
export interface JudgedProfile {
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
export function judgedProfiles(basis: GateBasis, armedId: string | undefined): readonly JudgedProfile[] {
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
