import type { AllowListEntry, Technology } from '@steeple/contracts'
import { type Carrier, type CarrierBlock, carriersOf } from '@steeple/telecom'

/** Lower and upper limit of an allow-list entry in kHz; undefined = the edge of the band. */
interface AllowedRange {
  readonly lowKhz: number | undefined
  readonly highKhz: number | undefined
}

/**
 * What an entry allows, as frequencies of the downlink.
 *
 * The limit is the frequency of its first and last channel. The first and the last channel of the band stand for the
 * band's edges, which no channel number names exactly.
 */
function allowedRange(entry: AllowListEntry): AllowedRange {
  const { technology, band, earfcn_min: first, earfcn_max: last } = entry
  return {
    lowKhz: first === undefined ? undefined : limitKhz(technology, band, first, -1),
    highKhz: last === undefined ? undefined : limitKhz(technology, band, last, 1),
  }
}

/** An entry with its limits as frequencies. */
export interface ListedEntry {
  readonly entry: AllowListEntry
  readonly range: AllowedRange
}

/** The allow-list of one country, by band. The limits of a band's entries are worked out once, when first asked for. */
export interface CountryList {
  readonly country: string
  entriesOf(technology: Technology, band: string): readonly ListedEntry[]
}

/** The entries of one country, ISO 3166-1 alpha-2. Use one list for all the channels of a request. */
export function countryList(entries: readonly AllowListEntry[], country: string): CountryList {
  const known = new Map<string, readonly ListedEntry[]>()
  return {
    country,
    entriesOf: (technology, band) => {
      const listed =
        known.get(`${technology} ${band}`) ??
        entries
          .filter(
            (entry) => entry.country === country && entry.technology === technology && entry.band === band,
          )
          .map((entry) => ({ entry, range: allowedRange(entry) }))
      known.set(`${technology} ${band}`, listed)
      return listed
    },
  }
}

/** Whether a block, edges and all, lies inside the range. */
export function isInside(block: CarrierBlock, range: AllowedRange): boolean {
  return block.lowKhz >= (range.lowKhz ?? 0) && block.highKhz <= (range.highKhz ?? Number.MAX_SAFE_INTEGER)
}

/** The side of a carrier that an allow-list speaks of: the downlink, in supplementary uplink bands the uplink. */
export function allowListSide(carrier: Carrier): CarrierBlock | undefined {
  if (carrier.duplex === 'SUL') return carrier.uplink
  return carrier.direction === 'UL' ? undefined : carrier.downlink
}

/** The block, without width, of a channel number that names such a side of the band; undefined when it names none. */
export function channelIn(technology: Technology, band: string, channel: number): CarrierBlock | undefined {
  const carrier = channel < 0 ? undefined : carriersOf(technology, channel, { band })[0]
  return carrier === undefined ? undefined : allowListSide(carrier)
}

function limitKhz(technology: Technology, band: string, channel: number, step: -1 | 1): number | undefined {
  const isOutermost = channelIn(technology, band, channel + step) === undefined
  return isOutermost ? undefined : channelIn(technology, band, channel)?.centreKhz
}
