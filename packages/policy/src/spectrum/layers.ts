import { msFromTimestamp, type SpectrumLicense } from '@steeple/contracts'
import { isCountryCode } from '../bundle/country-codes.ts'

/** The three layers, in the order in which they are named when several block. Contract section 5. */
export type GateName = 'country-code' | 'license' | 'allow-list'

/** A layer that blocks, and why: a sentence that says what to do. */
export interface ClosedGate {
  readonly gate: GateName
  readonly reason: string
}

/** The country layer: open when the node knows the country it stands in. `LAB` and no country block. */
export function countryGate(country: string): ClosedGate | undefined {
  if (isCountryCode(country)) return undefined
  const state = country === '' ? 'is not set' : `is ${country}, which is no country`
  return {
    gate: 'country-code',
    reason: `server.country ${state}; set it to the ISO 3166-1 alpha-2 code of the country the node stands in`,
  }
}

/** The license layer: open when an operator has acknowledged one that has not expired. It expires at its instant. */
export function licenseGate(license: SpectrumLicense, nowMs: number): ClosedGate | undefined {
  if (!license.acknowledged) {
    return {
      gate: 'license',
      reason: 'no license is acknowledged; set spectrum.license with PUT /v1/policy',
    }
  }
  const expiresMs = expiryMs(license)
  if (expiresMs === undefined || nowMs < expiresMs) return undefined
  return {
    gate: 'license',
    reason: `the license expired at ${license.expires_at}; acknowledge a valid one with PUT /v1/policy`,
  }
}

/** When the license expires, ms since the epoch; undefined when it does not. An unreadable time counts as the past. */
export function expiryMs(license: SpectrumLicense): number | undefined {
  return license.expires_at === null ? undefined : (msFromTimestamp(license.expires_at) ?? 0)
}
