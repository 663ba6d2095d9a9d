import type { AllowListEntry, Technology } from '@steeple/contracts'
import { type Carrier, type CarrierBlock, carriersOf, khzFromMhz, nrRasterStepKhz } from '@steeple/telecom'

/** Spectrum of the downlink between two edges in kHz; 0 and infinity stand for the edges of the band. */
export interface AllowedRange {
  readonly lowKhz: number
  readonly highKhz: number
}

/** Distance of two neighbouring EARFCNs. Source: TS 36.101 §5.7.3. */
const EARFCN_STEP_KHZ = 100

/**
 * What an entry allows.
 *
 * An edge is the MHz of the licence, else the frequency of the first or last channel. The first and the last channel of
 * the band stand for the band's edges, which no channel number names exactly.
 */
export function allowedRange(entry: AllowListEntry): AllowedRange {
  const { technology, band, earfcn_min: first, earfcn_max: last, low_mhz: low, high_mhz: high } = entry
  const edge = (mhz: number | undefined, channel: number | undefined, step: -1 | 1): number | undefined =>
    mhz === undefined
      ? channel === undefined
        ? undefined
        : limitKhz(technology, band, channel, step)
      : khzFromMhz(mhz)
  return { lowKhz: edge(low, first, -1) ?? 0, highKhz: edge(high, last, 1) ?? Number.POSITIVE_INFINITY }
}

/** An entry with its edges as frequencies. */
interface ListedEntry {
  readonly entry: AllowListEntry
  readonly range: AllowedRange
}

/** The allow-list of one country, by band and from the lowest edge on. The edges of a band are worked out once. */
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
          .sort((one, other) => one.range.lowKhz - other.range.lowKhz)
      known.set(`${technology} ${band}`, listed)
      return listed
    },
  }
}

/** The entries' spectrum with those that touch or overlap made one. Takes them from the lowest edge on. */
export function joinedRanges(entries: readonly ListedEntry[]): readonly AllowedRange[] {
  const joined: AllowedRange[] = []
  let before: AllowListEntry | undefined
  for (const { entry, range } of entries) {
    const last = joined.at(-1)
    const gapKhz = before === undefined ? 0 : joinedGapKhz(before, entry, range.lowKhz)
    if (last !== undefined && range.lowKhz - last.highKhz <= gapKhz) {
      joined[joined.length - 1] = { ...last, highKhz: Math.max(last.highKhz, range.highKhz) }
    } else joined.push(range)
    before = entry
  }
  return joined
}

/** Channels 1250 to 1350 and 1351 to 1450 touch: no channel lies between them. */
function joinedGapKhz(before: AllowListEntry, entry: AllowListEntry, khz: number): number {
  return before.high_mhz === undefined && entry.low_mhz === undefined
    ? channelStepKhz(entry.technology, khz)
    : 0
}

/** Distance of two neighbouring channel numbers there. */
export function channelStepKhz(technology: Technology, khz: number): number {
  return technology === 'lte' ? EARFCN_STEP_KHZ : nrRasterStepKhz(khz)
}

/**
 * Whether a carrier, edges and all, lies inside the range.
 *
 * The middle of a licensed block need not be on the NR raster, so an NR carrier may stick out by less than one step of it,
 * which is a fraction of its guard band. Source: TS 38.104 §5.3.3, §5.4.2.1.
 */
export function isInside(technology: Technology, block: CarrierBlock, range: AllowedRange): boolean {
  const hasWidth = block.lowKhz < block.highKhz
  const spareKhz = technology === 'nr' && hasWidth ? nrRasterStepKhz(block.centreKhz) - 1 : 0
  return block.lowKhz >= range.lowKhz - spareKhz && block.highKhz <= range.highKhz + spareKhz
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
