import { type AllowListEntry, type ErrorDetail, msFromTimestamp } from '@steeple/contracts'
import { apnProblem, bandwidthsMhz } from '@steeple/telecom'
import { channelIn } from '../spectrum/allowed-range.ts'
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
  return [...limits, ...orderProblems(entry, pointer)]
}

function orderProblems(entry: AllowListEntry, pointer: string): readonly ErrorDetail[] {
  const { earfcn_min: first, earfcn_max: last } = entry
  const isReversed = first !== undefined && last !== undefined && first > last
  return isReversed
    ? sentence(`${pointer}/earfcn_min`, `must not be above earfcn_max: ${first} > ${last}`)
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
