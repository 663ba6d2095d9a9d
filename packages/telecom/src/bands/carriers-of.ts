import type { Technology } from '@steeple/contracts'
import { bandwidthsMhz } from './band.ts'
import { LTE_BANDS, type LteBandRow, type LteRange } from './band-row.ts'
import {
  blockAt,
  type Carrier,
  type CarrierBlock,
  type CarrierProblemCode,
  carrierProblem,
  isInBand,
} from './carrier.ts'
import { earfcnFromKhz, type LteChannel, lteBandRow, lteChannel, lteUplink } from './lte-channel.ts'
import { type NrCarrierOptions, nrCarriers } from './nr-carrier.ts'
import { nearestNrArfcn } from './nr-channel.ts'

/**
 * EARFCNs at the low end of a band that a bandwidth in MHz must not use; one fewer at the high end.
 *
 * Source: TS 36.101 §5.7.3.
 */
const RESERVED_AT_LOW_EDGE: ReadonlyMap<number, number> = new Map([
  [1.4, 7],
  [3, 15],
  [5, 25],
  [10, 50],
  [15, 75],
  [20, 100],
])

/** What the notes of TS 36.104 Rel-19 tables 5.5-1 and 5.7.3-1 say of whole bands. */
const BAND_NOTES: ReadonlyMap<number, CarrierProblemCode> = new Map([
  [6, 'withdrawn'],
  [23, 'withdrawn'],
  [46, 'licensed_assisted_only'],
  [47, 'sidelink_only'],
  [49, 'licensed_assisted_only'],
  [103, 'nb_iot_only'],
])

/** Downlink edges in kHz inside band 24 that may be used. Source: TS 36.104 Rel-19 table 5.5-1, note. */
const BAND_24_DOWNLINK: readonly [number, number] = [1_526_000, 1_536_000]
/** The only EARFCNs of band 106 for 3 MHz. Source: TS 36.104 Rel-19 table 5.7.3-1, note. */
const BAND_106_3_MHZ: readonly number[] = [70_686, 134_322]

/**
 * The carrier of an EARFCN in its band; `undefined` when no band has the number.
 *
 * Without a bandwidth only the position is judged.
 */
function lteCarrier(earfcn: number, bandwidthMhz: number | undefined): Carrier | undefined {
  const place = lteChannel(earfcn)
  const row = place === undefined ? undefined : lteBandRow(place.band)
  if (place === undefined || row === undefined) return undefined
  const { band, channel, direction, duplex } = place
  const partner = place.pairedEarfcn ?? channel
  const downlink = blockAt(place.downlinkMhz, direction === 'UL' ? partner : channel, bandwidthMhz)
  const uplink = blockAt(place.uplinkMhz, direction === 'DL' ? partner : channel, bandwidthMhz)
  const codes = new Set([
    ...positionProblems(row, place, downlink, bandwidthMhz),
    ...bandwidthProblems(band, bandwidthMhz),
    ...edgeProblems(row, place, { downlink, uplink }, bandwidthMhz),
  ])
  const problems = [...codes].map((code) => carrierProblem(code, { band, channel, bandwidthMhz }))
  return { technology: 'lte', band, channel, direction, duplex, downlink, uplink, problems }
}

function positionProblems(
  row: LteBandRow,
  place: LteChannel,
  downlink: CarrierBlock | undefined,
  bandwidthMhz: number | undefined,
): readonly CarrierProblemCode[] {
  const codes: CarrierProblemCode[] = []
  const note = BAND_NOTES.get(row[0])
  if (note !== undefined) codes.push(note)
  if (row[1] === 'SDO') codes.push('broadcast_only')
  else if (downlink !== undefined && place.uplinkMhz === undefined) codes.push('no_uplink')
  const isOutside24 = row[0] === 24 && !isInBand(downlink, BAND_24_DOWNLINK)
  const isOutside106 = row[0] === 106 && bandwidthMhz === 3 && !BAND_106_3_MHZ.includes(place.channel)
  if (isOutside24 || isOutside106) codes.push('position_not_allowed')
  return codes
}

function bandwidthProblems(band: string, bandwidthMhz: number | undefined): readonly CarrierProblemCode[] {
  if (bandwidthMhz === undefined) return []
  const known = bandwidthsMhz('lte', band)
  if (known === 'unknown') {
    return RESERVED_AT_LOW_EDGE.has(bandwidthMhz) ? ['bandwidth_unverified'] : ['bandwidth_not_in_band']
  }
  return known?.includes(bandwidthMhz) === true ? [] : ['bandwidth_not_in_band']
}

function edgeProblems(
  row: LteBandRow,
  place: LteChannel,
  sides: Pick<Carrier, 'downlink' | 'uplink'>,
  bandwidthMhz: number | undefined,
): readonly CarrierProblemCode[] {
  const codes: CarrierProblemCode[] = []
  const own = place.direction === 'UL' ? lteUplink(row) : row[2]
  if (own !== undefined && isReserved(own, place.channel, bandwidthMhz)) codes.push('reserved_channel')
  if (!isInBand(sides.downlink, row[2]) || !isInBand(sides.uplink, lteUplink(row))) codes.push('out_of_band')
  return codes
}

function isReserved(range: LteRange, channel: number, bandwidthMhz: number | undefined): boolean {
  const low = bandwidthMhz === undefined ? undefined : RESERVED_AT_LOW_EDGE.get(bandwidthMhz)
  if (low === undefined) return false
  const [, , first, last] = range
  return channel < first + low || channel > last - (low - 1)
}

/** What narrows `carriersOf`; sub-carrier spacing and raster say nothing in LTE. */
export interface CarriersOptions extends NrCarrierOptions {
  /** Only this band, `b3` or `n78`. */
  readonly band?: string | undefined
}

/**
 * Every carrier that a channel number can mean: one band in LTE, up to a dozen in NR, in table order.
 *
 * - Empty when no band (or not the asked band) has the number in its range.
 * - Each carrier brings its problems; `isUsableCarrier` tells whether one of them refuses it. A number that lies
 *   in a band's range but on none of its channels is returned, with `off_raster`.
 *
 * Source: TS 36.101 §5.7, TS 38.104 §5.4.
 */
export function carriersOf(
  technology: Technology,
  channel: number,
  options: CarriersOptions = {},
): readonly Carrier[] {
  const carriers =
    technology === 'lte' ? lteCarriers(channel, options.bandwidthMhz) : nrCarriers(channel, options)
  return options.band === undefined ? carriers : carriers.filter((carrier) => carrier.band === options.band)
}

/**
 * The downlink channel nearest to a frequency in kHz, in each band that has one there, in table order.
 *
 * Source: TS 36.101 §5.7.3, TS 38.104 §5.4.2.
 */
export function channelsAtKhz(
  technology: Technology,
  khz: number,
): readonly { readonly band: string; readonly channel: number }[] {
  if (technology === 'lte') {
    // Edges of LTE bands are whole 100 kHz, and so are its channels.
    const nearest = Math.round(khz / 100) * 100
    return LTE_BANDS.flatMap(([number]) => {
      const channel = earfcnFromKhz(`b${number}`, 'DL', nearest)
      return channel === undefined ? [] : [{ band: `b${number}`, channel }]
    })
  }
  const channel = nearestNrArfcn(khz)
  if (channel === undefined) return []
  return nrCarriers(channel, {})
    .filter(({ direction }) => direction !== 'UL')
    .map(({ band }) => ({ band, channel }))
}

function lteCarriers(channel: number, bandwidthMhz: number | undefined): readonly Carrier[] {
  const carrier = lteCarrier(channel, bandwidthMhz)
  return carrier === undefined ? [] : [carrier]
}
