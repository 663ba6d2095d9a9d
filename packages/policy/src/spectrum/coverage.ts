import type { AllowListEntry, CarrierRequest } from '@steeple/contracts'
import { type Carrier, type CarrierBlock, carriersOf, isUsableCarrier, mhzFromKhz } from '@steeple/telecom'
import {
  type AllowedRange,
  allowListSide,
  type CountryList,
  channelStepKhz,
  isInside,
  joinedRanges,
} from './allowed-range.ts'

/**
 * Whether the allow-list covers a carrier: by which band, or why not (the reason names channel and country) and which
 * channels next to it of the same width it does cover.
 */
export type Coverage =
  | { readonly isCovered: true; readonly carrier: Carrier }
  | { readonly isCovered: false; readonly reason: string; readonly nearest: readonly number[] }

/** The question put to the allow-list. */
interface CoverageQuestion {
  readonly carrier: CarrierRequest
  /** Whether the node itself will send it: then the band needs a downlink and a limit on EIRP needs a stated EIRP. */
  readonly isForSending: boolean
}

/** Parts of the allow-list in which a channel that fits is looked for. */
const RANGES_TRIED = 2
/** Channel numbers tried on each side of the one that would fit: the rasters of bands have steps of up to 20. */
const NUMBERS_TRIED = 21

/**
 * Looks for entries that together cover the carrier, edges and all, in any band that its channel number can mean.
 *
 * A number that is an uplink channel of a band is covered by none of it: the list holds downlink numbers.
 */
export function coverageOf(list: CountryList, question: CoverageQuestion): Coverage {
  const { carrier: wanted } = question
  const carriers = carriersOf(wanted.technology, wanted.channel, {
    band: wanted.band,
    bandwidthMhz: wanted.bandwidthMhz,
  })
  const start = channelName(wanted)
  const placed = carriers.filter((carrier) => canBeUsed(carrier, question.isForSending))
  if (placed.length === 0) {
    const nearest = carriers.slice(0, 1).flatMap((carrier) => nearestChannels(carrier, list, question))
    const fits = nearest.length === 0 ? '' : `; ${nearestText(carriers[0], nearest)}`
    return { isCovered: false, reason: `${start} in ${list.country}: ${unusable(carriers)}${fits}`, nearest }
  }
  let refused: { readonly reason: string; readonly nearest: readonly number[] } | undefined
  for (const carrier of placed) {
    const judged = judge(carrier, list, question)
    if (judged === undefined) return { isCovered: true, carrier }
    if (judged.reason !== undefined) refused ??= { reason: judged.reason, nearest: judged.nearest }
  }
  const bands = placed.map(({ band }) => band).join(', ')
  const reason = refused?.reason ?? `the allow-list has no entry of ${list.country} for it`
  return {
    isCovered: false,
    reason: `${start} (${bands}) in ${list.country}: ${reason}`,
    nearest: refused?.nearest ?? [],
  }
}

/** Why the list does not cover the carrier, without a reason where it has no entry; undefined when it does. */
function judge(
  carrier: Carrier,
  list: CountryList,
  question: CoverageQuestion,
): { readonly reason?: string; readonly nearest: readonly number[] } | undefined {
  const { technology, band } = carrier
  const block = allowListSide(carrier)
  const entries = list.entriesOf(technology, band)
  if (block === undefined || entries.length === 0) return { nearest: [] }
  const isCovered = permittedRanges(carrier, list, question).some((range) =>
    isInside(technology, block, range),
  )
  if (isCovered) return undefined
  const nearest = nearestChannels(carrier, list, question)
  const listed = joinedRanges(entries)
  const isListed = listed.some((range) => isInside(technology, block, range))
  const tooStrong = entries.map(({ entry }) => powerReason(entry, question)).find((why) => why !== undefined)
  if (isListed && tooStrong !== undefined) return { reason: tooStrong, nearest }
  return { reason: outsideReason(carrier, block, byDistance(block, listed)[0], nearest), nearest }
}

/** What the entries of its band allow with its power. */
function permittedRanges(
  { technology, band }: Carrier,
  list: CountryList,
  question: CoverageQuestion,
): readonly AllowedRange[] {
  const entries = list.entriesOf(technology, band)
  return joinedRanges(entries.filter(({ entry }) => powerReason(entry, question) === undefined))
}

/** The ranges, from the one that the carrier sticks out of least. */
function byDistance(block: CarrierBlock, ranges: readonly AllowedRange[]): readonly AllowedRange[] {
  const outsideKhz = ({ lowKhz, highKhz }: AllowedRange): number =>
    Math.max(lowKhz - block.lowKhz, block.highKhz - highKhz)
  return ranges.toSorted((one, other) => outsideKhz(one) - outsideKhz(other))
}

/** The channels of the carrier's band and width that lie inside the nearest ranges, one for each, nearest first. */
function nearestChannels(carrier: Carrier, list: CountryList, question: CoverageQuestion): readonly number[] {
  const { technology, band } = carrier
  const { bandwidthMhz } = question.carrier
  const block = allowListSide(carrier)
  if (block === undefined) return []
  const half = block.highKhz - block.centreKhz
  const stepKhz = channelStepKhz(technology, block.centreKhz)
  return byDistance(block, permittedRanges(carrier, list, question))
    .slice(0, RANGES_TRIED)
    .flatMap((range) => {
      const centreKhz = Math.min(Math.max(block.centreKhz, range.lowKhz + half), range.highKhz - half)
      const start = block.channel + Math.round((centreKhz - block.centreKhz) / stepKhz)
      for (let away = 0; away < NUMBERS_TRIED; away += 1) {
        const fitting = [start - away, start + away].find((channel) =>
          carriersOf(technology, channel, { band, bandwidthMhz }).some((other) => {
            const side = allowListSide(other)
            return side !== undefined && isUsableCarrier(other) && isInside(technology, side, range)
          }),
        )
        if (fitting !== undefined) return [fitting]
      }
      return []
    })
}

/** `EARFCN 1300` or `NR-ARFCN 620000`. */
export function channelName(carrier: Pick<CarrierRequest, 'technology' | 'channel'>): string {
  return `${carrier.technology === 'lte' ? 'EARFCN' : 'NR-ARFCN'} ${carrier.channel}`
}

function canBeUsed(carrier: Carrier, isForSending: boolean): boolean {
  const isPlaced = allowListSide(carrier) !== undefined
  return isPlaced && isUsableCarrier(carrier) && !(isForSending && carrier.downlink === undefined)
}

function unusable(carriers: readonly Carrier[]): string {
  const refused = carriers
    .filter((carrier) => allowListSide(carrier) !== undefined)
    .flatMap((carrier) => carrier.problems.filter(({ severity }) => severity === 'refuse'))
  if (refused[0] !== undefined) return refused[0].message
  const [carrier] = carriers
  if (carrier === undefined) return 'no band has this channel'
  if (carrier.direction !== 'UL' || carrier.duplex === 'SUL') return `${carrier.band} has no downlink`
  const pair = carrier.downlink === undefined ? '' : `, ${carrier.downlink.channel}`
  return `it is an uplink channel of ${carrier.band}; give the downlink channel${pair}`
}

function outsideReason(
  carrier: Carrier,
  block: CarrierBlock,
  range: AllowedRange | undefined,
  nearest: readonly number[],
): string {
  const edges = `${mhzFromKhz(block.lowKhz)} to ${mhzFromKhz(block.highKhz)} MHz`
  const low = range === undefined || range.lowKhz === 0 ? 'the low edge' : mhzFromKhz(range.lowKhz)
  const high =
    range === undefined || range.highKhz === Number.POSITIVE_INFINITY
      ? 'the high edge'
      : `${mhzFromKhz(range.highKhz)} MHz`
  const fits = nearest.length === 0 ? 'no channel of this width fits' : nearestText(carrier, nearest)
  return `the carrier, ${edges}, lies outside the allow-list, ${low} to ${high} of ${carrier.band}; ${fits}`
}

/** With the middle of each in MHz: people enter that. */
function nearestText(carrier: Carrier | undefined, nearest: readonly number[]): string {
  const names = nearest.map((channel) => {
    const [found] =
      carrier === undefined ? [] : carriersOf(carrier.technology, channel, { band: carrier.band })
    const block = found === undefined ? undefined : allowListSide(found)
    return block === undefined ? `${channel}` : `${channel} (${mhzFromKhz(block.centreKhz)} MHz)`
  })
  return `the nearest channel that fits is ${names.join(' or ')}`
}

function powerReason(entry: AllowListEntry, { carrier, isForSending }: CoverageQuestion): string | undefined {
  const limitDbm = entry.max_eirp_dbm
  if (limitDbm === undefined) return undefined
  if (carrier.eirpDbm === undefined) {
    return isForSending
      ? `the allow-list limits ${entry.band} to ${limitDbm} dBm EIRP and the profile states no eirp_dbm`
      : undefined
  }
  return carrier.eirpDbm <= limitDbm
    ? undefined
    : `the allow-list limits ${entry.band} to ${limitDbm} dBm EIRP, less than ${carrier.eirpDbm} dBm`
}
