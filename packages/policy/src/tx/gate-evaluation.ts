import type {
  CarrierRequest,
  PolicyBundle,
  RadioFallback,
  RadioProfile,
  TxGateState,
} from '@steeple/contracts'
import { type CarrierBlock, carriersOf, isUsableCarrier, mhzFromKhz } from '@steeple/telecom'
import { isSame } from '../bundle/changed-keys.ts'
import { type CountryList, countryList } from '../spectrum/allowed-range.ts'
import { coverageOf } from '../spectrum/coverage.ts'
import { type ClosedGate, countryGate, licenseGate } from '../spectrum/layers.ts'
import type { Arm } from '../store.ts'

/** Everything that decides whether TX may be armed. `profiles` are those of the file and the stored ones. */
export interface GateBasis {
  readonly country: string
  readonly profiles: Readonly<Record<string, RadioProfile>>
  readonly spectrum: PolicyBundle['spectrum']
  readonly nowMs: number
}

/** The carrier that a radio profile emits. */
export function carrierOfProfile(profile: RadioProfile): CarrierRequest {
  const { technology, channel, band, bandwidth_mhz: bandwidthMhz, eirp_dbm: eirpDbm } = profile
  return { technology, channel, band, bandwidthMhz, eirpDbm }
}

/**
 * The layers that keep the node from sending this carrier, in their order; empty when it may.
 *
 * Without a carrier the allow-list layer asks for any configured profile, or, where no profile is configured, for any
 * entry of the country.
 */
export function closedGates(basis: GateBasis, carrier: CarrierRequest | undefined): readonly ClosedGate[] {
  const list = countryList(basis.spectrum.allow_list, basis.country)
  const closed = [
    countryGate(basis.country),
    licenseGate(basis.spectrum.license, basis.nowMs),
    carrier === undefined ? anyCarrierGate(basis, list) : carrierGate(list, carrier),
  ]
  return closed.filter((gate) => gate !== undefined)
}

/** Why an armed transmitter must go off: closed gates, and what has changed since it was armed. Empty when nothing. */
export function disarmReasons(basis: GateBasis, arm: Arm): readonly string[] {
  const closed = closedGates(basis, carrierOfProfile(arm.profile)).map(({ reason }) => reason)
  const configured = profileOf(basis.profiles, arm.profileId)
  const profile =
    configured === undefined
      ? [`the radio profile ${arm.profileId} does not exist any more`]
      : isSame(configured, arm.profile)
        ? []
        : [`the radio profile ${arm.profileId} has changed since it was armed`]
  const moved =
    arm.country === basis.country
      ? []
      : [`server.country was ${arm.country} when TX was armed and is ${basis.country || 'not set'}`]
  return [...closed, ...profile, ...moved]
}

/** The TX gate as `GET /v1/tx/arm` shows it: the gates of the armed profile, or of any while disarmed. */
export function gateState(
  basis: GateBasis,
  arm: Arm | undefined,
  transmitter: TxGateState['transmitter'],
): TxGateState {
  const closed = closedGates(basis, arm === undefined ? undefined : carrierOfProfile(arm.profile))
  const stateOf = (name: ClosedGate['gate']): 'set' | 'missing' =>
    closed.some(({ gate }) => gate === name) ? 'missing' : 'set'
  return {
    armed: arm !== undefined,
    gates: {
      country_code: stateOf('country-code'),
      license_ack: stateOf('license'),
      allow_list: stateOf('allow-list'),
    },
    profile: arm?.profileId,
    radio: arm?.profile,
    transmitter,
  }
}

/** The configured profile of that id; names that every object has are none. */
export function profileOf(profiles: GateBasis['profiles'], id: string): RadioProfile | undefined {
  return Object.hasOwn(profiles, id) ? profiles[id] : undefined
}

function carrierGate(list: CountryList, carrier: CarrierRequest): ClosedGate | undefined {
  const coverage = coverageOf(list, { carrier, isForSending: true })
  return coverage.isCovered ? undefined : { gate: 'allow-list', reason: coverage.reason }
}

function anyCarrierGate(basis: GateBasis, list: CountryList): ClosedGate | undefined {
  const { country, spectrum } = basis
  const profiles = Object.values(basis.profiles)
  const closed = profiles.map((profile) => carrierGate(list, carrierOfProfile(profile)))
  if (closed.includes(undefined)) return undefined
  const isListed = spectrum.allow_list.some((entry) => entry.country === country)
  if (profiles.length === 0 && isListed) return undefined
  return (
    closed[0] ?? {
      gate: 'allow-list',
      reason: `the allow-list has no entry of ${country || 'any country'}; add one with PUT /v1/policy`,
    }
  )
}

/** What the gate alone does not know of a profile. */
interface Around {
  readonly isArmed: boolean
  readonly isInFile: boolean
  readonly problems: readonly string[]
  readonly fallback: RadioFallback | undefined
}

/** A profile as it is shown, judged as an arm of it would be. Its band: the one that it names, else the first in which its channel is one. */
export function judgedProfile(
  basis: GateBasis,
  id: string,
  profile: RadioProfile,
  { isArmed, isInFile, problems, fallback }: Around,
): object {
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

function blockRecord(block: CarrierBlock | undefined): object | null {
  return block === undefined
    ? null
    : { low_mhz: mhzFromKhz(block.lowKhz), high_mhz: mhzFromKhz(block.highKhz) }
}
