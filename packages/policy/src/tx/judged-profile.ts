import type { RadioFallback, RadioProfile } from '@steeple/contracts'
import { type CarrierBlock, carriersOf, isUsableCarrier, mhzFromKhz } from '@steeple/telecom'
import type { ClosedGate } from '../spectrum/layers.ts'
import { carrierOfProfile, closedGates, type GateBasis } from './gate-evaluation.ts'

/** One side of a carrier, MHz. */
interface BlockRecord {
  readonly low_mhz: number
  readonly high_mhz: number
}

/** A radio profile, where its carrier lies, and whether it may be armed now. */
export interface JudgedProfile {
  readonly id: string
  readonly technology: RadioProfile['technology']
  readonly channel: number
  /** The band that the profile names, else the first in which its channel is one; null: there is none. */
  readonly band: string | null
  readonly bandwidth_mhz: number
  readonly eirp_dbm: number | null
  readonly tx_gain_db: number | null
  readonly rx_gain_db: number | null
  readonly downlink: BlockRecord | null
  readonly uplink: BlockRecord | null
  readonly armed: boolean
  /** `file`: it stands in the configuration file, where alone it can be changed. */
  readonly source: 'file' | 'store'
  /** Empty when it may be armed. */
  readonly closed: readonly ClosedGate[]
  /** Why the radio of this box cannot send it, whatever the gate says. */
  readonly problems: readonly string[]
  /** What becomes of it when this machine fails; null: no radio is configured. */
  readonly fallback: RadioFallback | null
}

/** What the gate alone does not know of a profile. */
interface Around {
  readonly isArmed: boolean
  readonly isInFile: boolean
  readonly problems: readonly string[]
  readonly fallback: RadioFallback | undefined
}

/** A profile judged as an arm of it would be. */
export function judgedProfile(
  basis: GateBasis,
  id: string,
  profile: RadioProfile,
  { isArmed, isInFile, problems, fallback }: Around,
): JudgedProfile {
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
    tx_gain_db: profile.tx_gain_db ?? null,
    rx_gain_db: profile.rx_gain_db ?? null,
    downlink: blockRecord(carrier?.downlink),
    uplink: blockRecord(carrier?.uplink),
    armed: isArmed,
    source: isInFile ? 'file' : 'store',
    closed: closedGates(basis, carrierOfProfile(profile)),
    problems,
    fallback: fallback ?? null,
  }
}

function blockRecord(block: CarrierBlock | undefined): BlockRecord | null {
  if (block === undefined) return null
  return { low_mhz: mhzFromKhz(block.lowKhz), high_mhz: mhzFromKhz(block.highKhz) }
}
