import { type AllowListEntry, type ErrorDetail, msFromTimestamp } from '@steeple/contracts'
import { apnProblem, bandwidthsMhz, downlinkSpan, khzFromMhz, mhzFromKhz } from '@steeple/telecom'
import { allowedRange, channelIn } from '../spectrum/allowed-range.ts'
import { isCountryCode } from './country-codes.ts'
import type { PolicyContent } from './default-bundle.ts'

/** What a bundle that follows the schema still says wrongly: a JSON pointer and a sentence each. */
export function bundleProblems(content: PolicyContent): readonly ErrorDetail[] {
  const apns = content.apns.flatMap((apn, at) => sentence(`/apns/${at}`, apnProblem(apn)))
  const entries = content.spectrum.allow_list.flatMap((entry, at) =>
    entryProblems(entry, `/spectrum/allow_list/${at}`),
  )
  return [...apns, ...twins(content.apns), ...entries, ...expiryProblems(content.spectrum.license.expires_at)]
}

/** TS 23.003 §9.1: labels are compared without regard to case, so a core sees one APN where two are written. */
function twins(apns: readonly string[]): readonly ErrorDetail[] {
  const lower = apns.map((apn) => apn.toLowerCase())
  return lower.flatMap((apn, at) =>
    lower.indexOf(apn) === at ? [] : sentence(`/apns/${at}`, 'differs from another only in case'),
  )
}

function entryProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const country = isCountryCode(entry.country)
    ? []
    : sentence(`${pointer}/country`, `is no ISO 3166-1 alpha-2 code: ${entry.country}`)
  return [...country, ...bandProblems(entry, pointer)]
}

function bandProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const { technology, band } = entry
  if (bandwidthsMhz(technology, band) === undefined) {
    return sentence(`${pointer}/band`, `there is no ${technology} band ${band}`)
  }
  const limits = (['earfcn_min', 'earfcn_max'] as const).flatMap((key) => {
    const channel = entry[key]
    const isPlaced = channel === undefined || channelIn(technology, band, channel) !== undefined
    return isPlaced
      ? []
      : sentence(`${pointer}/${key}`, `channel ${channel} is no downlink channel of ${band}`)
  })
  return [...limits, ...edgeProblems(entry, pointer), ...orderProblems(entry, pointer)]
}

/** Both edges of a licensed block lie in its band, and each edge is given once. */
function edgeProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const { technology, band } = entry
  const span = downlinkSpan(technology, band)
  return (['low', 'high'] as const).flatMap((side) => {
    const edge = entry[`${side}_mhz`]
    const channel = side === 'low' ? 'earfcn_min' : 'earfcn_max'
    if (edge === undefined) return []
    if (entry[channel] !== undefined)
      return sentence(`${pointer}/${side}_mhz`, `give ${side}_mhz or ${channel}, not both`)
    if (span === undefined) return sentence(`${pointer}/${side}_mhz`, `${band} has no downlink`)
    const isInBand = khzFromMhz(edge) >= span.lowKhz && khzFromMhz(edge) <= span.highKhz
    const edges = `${mhzFromKhz(span.lowKhz)} to ${mhzFromKhz(span.highKhz)} MHz`
    return isInBand
      ? []
      : sentence(`${pointer}/${side}_mhz`, `${edge} MHz lies outside the downlink of ${band}, ${edges}`)
  })
}

function orderProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const { earfcn_min: first, earfcn_max: last, low_mhz: low, high_mhz: high } = entry
  if (first !== undefined && last !== undefined && first > last)
    return sentence(`${pointer}/earfcn_min`, `must not be above earfcn_max: ${first} > ${last}`)
  const { lowKhz, highKhz } = allowedRange(entry)
  return (low ?? high) !== undefined && lowKhz >= highKhz
    ? sentence(
        `${pointer}/${low === undefined ? 'high' : 'low'}_mhz`,
        'the low edge must be below the high edge',
      )
    : []
}

function expiryProblems(expiresAt: string | null): readonly ErrorDetail[] {
  const isTimestamp = expiresAt === null || msFromTimestamp(expiresAt) !== undefined
  return isTimestamp
    ? []
    : sentence(
        '/spectrum/license/expires_at',
        'must be an RFC 3339 timestamp such as 2030-01-31T00:00:00.000Z',
      )
}

function sentence(pointer: string, message: string | undefined): readonly ErrorDetail[] {
  return message === undefined ? [] : [{ pointer, message }]
}
