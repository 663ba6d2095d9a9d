import type { LteBandRow, LteRange } from './band-row.ts'
import { bandwidthsMhz } from './bandwidths.ts'
import type { Carrier, CarrierBlock, CarrierProblemCode } from './carrier.ts'
import { blockAround, isInBand } from './carrier.ts'
import { carrierProblem } from './carrier-problem.ts'
import { khzFromMhz } from './frequency.ts'
import type { LteChannel } from './lte-channel.ts'
import { lteBandRow, lteChannel, lteUplink } from './lte-channel.ts'

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
export function lteCarrier(earfcn: number, bandwidthMhz: number | undefined): Carrier | undefined {
  const place = lteChannel(earfcn)
  const row = place === undefined ? undefined : lteBandRow(place.band)
  if (place === undefined || row === undefined) return undefined
  const { band, channel, direction, duplex } = place
  const partner = place.pairedEarfcn ?? channel
  const downlink = block(place.downlinkMhz, direction === 'UL' ? partner : channel, bandwidthMhz)
  const uplink = block(place.uplinkMhz, direction === 'DL' ? partner : channel, bandwidthMhz)
  const codes = new Set([
    ...positionProblems(row, place, downlink, bandwidthMhz),
    ...bandwidthProblems(band, bandwidthMhz),
    ...edgeProblems(row, place, { downlink, uplink }, bandwidthMhz),
  ])
  const problems = [...codes].map((code) => carrierProblem(code, { band, channel, bandwidthMhz }))
  return { technology: 'lte', band, channel, direction, duplex, downlink, uplink, problems }
}

function block(
  mhz: number | undefined,
  channel: number,
  bandwidthMhz: number | undefined,
): CarrierBlock | undefined {
  return mhz === undefined ? undefined : blockAround(channel, khzFromMhz(mhz), bandwidthMhz)
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
