import type { PolicyBundle } from '@steeple/contracts'
import {
  type CarrierRequest,
  type ErrorDetail,
  type SpectrumLicense,
  type Technology,
  validationFailed,
} from '@steeple/contracts'
import { bandwidthsMhz, type Carrier, carriersOf, mhzFromKhz } from '@steeple/telecom'
import { isCountryCode } from '../bundle/country-codes.ts'
import { countryList } from './allowed-range.ts'
import { type CheckBody, requestsOf, wrong } from './asked.ts'
import { type Coverage, channelName, coverageOf } from './coverage.ts'
import { type ClosedGate, countryGate, type GateName, licenseGate } from './layers.ts'

/** What is asked, with everything said. */
export interface CheckRequest {
  readonly technology: Technology
  readonly channels: readonly number[]
  readonly band?: string | undefined
  readonly bandwidth_mhz?: number | undefined
  readonly country?: string | undefined
}

/** One channel of the answer. `band` is the covering band; frequencies are those of that band, else of the first. */
interface ChannelResult {
  readonly channel: number
  readonly bands: readonly string[]
  readonly band: string | null
  readonly downlink_mhz: number | null
  readonly uplink_mhz: number | null
  readonly allowed: boolean
  readonly gate: GateName | null
  readonly reason: string | null
  /** Channels of this width next to it that the allow-list covers; empty when it is covered itself. */
  readonly nearest_channels: readonly number[]
}

/** The answer. `gate` is the first closed gate in the order of the layers, empty when the check passes. */
export interface CheckResult {
  readonly allowed: boolean
  readonly gate: GateName | ''
  readonly reason: string
  readonly technology: Technology
  readonly channels_checked: number
  readonly results: readonly ChannelResult[]
}

/** What a check is made against. `country` is the node's own, from the configuration. */
interface CheckBasis {
  readonly country: string
  readonly spectrum: { readonly license: SpectrumLicense } & PolicyBundle['spectrum']
  readonly nowMs: number
}

/** Judges a body that may leave a technology or band open: the first reading that is allowed counts, else the first. */
export function checkAsked(body: CheckBody, basis: CheckBasis): CheckResult {
  const requests = requestsOf(body)
  const [first] = requests
  if (first === undefined) {
    const asked = [body.frequency_mhz].flat().join(', ')
    throw wrong('/frequency_mhz', `no ${body.band ?? 'band'} has a downlink at ${asked} MHz`)
  }
  for (const request of requests.slice(1)) {
    const result = checkSpectrum(request, basis)
    if (result.allowed) return result
  }
  return checkSpectrum(first, basis)
}

/**
 * Whether channels may be used, and what blocks each.
 *
 * The country and license layers are the node's. The allow-list is asked for the request's country, the node's own when
 * absent: so a foreign country can be checked ahead of a move, as far as its entries are in the list already.
 * Throws `validation_failed` for an unknown country or band, a channel in no band, a bandwidth its band does not have.
 */
function checkSpectrum(request: CheckRequest, basis: CheckBasis): CheckResult {
  const problems = requestProblems(request)
  if (problems.length > 0) {
    const said = problems.slice(0, 3).map(({ message }) => message)
    throw validationFailed(`the check cannot be made: ${said.join('; ')}`, { details: problems })
  }
  const country = request.country ?? basis.country
  const shared = countryGate(basis.country) ?? licenseGate(basis.spectrum.license, basis.nowMs)
  const list = countryList(basis.spectrum.allow_list, country)
  const results = request.channels.map((channel) => {
    const { technology, band, bandwidth_mhz: bandwidthMhz } = request
    const carrier = { technology, channel, band, bandwidthMhz }
    const coverage = coverageOf(list, { carrier, isForSending: false })
    return channelResult(carrier, coverage, shared)
  })
  const blocked = results.find(({ allowed }) => !allowed)
  return {
    allowed: blocked === undefined,
    gate: blocked?.gate ?? '',
    reason: blocked?.reason ?? passReason(results, request.technology, country),
    technology: request.technology,
    channels_checked: results.length,
    results,
  }
}

function channelResult(
  request: CarrierRequest,
  coverage: Coverage,
  shared: ClosedGate | undefined,
): ChannelResult {
  const { technology, channel, band } = request
  const carriers = carriersOf(technology, channel, { band })
  const closed = shared ?? closedByList(coverage)
  const shown = coverage.isCovered ? coverage.carrier : mostLikely(carriers)
  return {
    channel,
    bands: carriers.map((carrier) => carrier.band),
    band: coverage.isCovered ? coverage.carrier.band : null,
    downlink_mhz: centreMhz(shown?.downlink),
    uplink_mhz: centreMhz(shown?.uplink),
    allowed: closed === undefined,
    gate: closed?.gate ?? null,
    reason: closed?.reason ?? null,
    nearest_channels: coverage.isCovered ? [] : coverage.nearest,
  }
}

function closedByList(coverage: Coverage): ClosedGate | undefined {
  return coverage.isCovered ? undefined : { gate: 'allow-list', reason: coverage.reason }
}

/** A number that several bands have is more often meant as the downlink of one than as the uplink of another. */
function mostLikely(carriers: readonly Carrier[]): Carrier | undefined {
  return carriers.find(({ direction }) => direction !== 'UL') ?? carriers[0]
}

function centreMhz(block: Carrier['downlink']): number | null {
  return block === undefined ? null : mhzFromKhz(block.centreKhz)
}

function passReason(results: readonly ChannelResult[], technology: Technology, country: string): string {
  const named = results
    .slice(0, 3)
    .map(({ channel, band }) => `${channelName({ technology, channel })} in ${band}`)
  const more = results.length > named.length ? ` and ${results.length - named.length} more` : ''
  return `the country is set, the license is acknowledged and the allow-list of ${country} has ${named.join(', ')}${more}`
}

function requestProblems(request: CheckRequest): readonly ErrorDetail[] {
  const { technology, band, country } = request
  if (country !== undefined && !isCountryCode(country)) {
    return [{ pointer: '/country', message: `${country} is no ISO 3166-1 alpha-2 code` }]
  }
  if (band !== undefined && bandwidthsMhz(technology, band) === undefined) {
    return [{ pointer: '/band', message: `there is no ${technology} band ${band}` }]
  }
  return request.channels.flatMap((channel, at) => channelProblems(request, channel, at))
}

function channelProblems(request: CheckRequest, channel: number, at: number): readonly ErrorDetail[] {
  const { technology, band, bandwidth_mhz: bandwidthMhz } = request
  const name = channelName({ technology, channel })
  const pointer = `/channels/${at}`
  const anywhere = carriersOf(technology, channel, { bandwidthMhz })
  if (anywhere.length === 0) return [{ pointer, message: `no ${technology} band has ${name}` }]
  const carriers = anywhere.filter((carrier) => band === undefined || carrier.band === band)
  const bands = anywhere.map((carrier) => carrier.band).join(', ')
  if (carriers.length === 0) return [{ pointer, message: `${name} is in ${bands}, not in ${band}` }]
  return carriers.every(lacksBandwidth)
    ? [{ pointer: '/bandwidth_mhz', message: `${bands} with ${name} has no channel of ${bandwidthMhz} MHz` }]
    : []
}

function lacksBandwidth(carrier: Carrier): boolean {
  return carrier.problems.some(({ code }) => code === 'bandwidth_not_in_band')
}
