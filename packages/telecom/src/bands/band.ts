import type { Technology } from '@steeple/contracts'
import { LTE_BANDS, NR_BANDS, NR_CHANNEL_BANDWIDTHS, type NrBandwidthLimits } from './band-row.ts'
import { khzFromMhz } from './channel-number.ts'
import { lteBandRow, lteChannel } from './lte-channel.ts'
import { khzFromNrArfcn, nrBandRows } from './nr-channel.ts'

/** A stretch of spectrum in whole kHz. */
export interface BandSpan {
  readonly lowKhz: number
  readonly highKhz: number
}

/** TS 36.101 §5.7.3: an EARFCN stands for the 100 kHz from its frequency to the next one's. */
const EARFCN_STEP_KHZ = 100

/**
 * The downlink spectrum of a band, or of a range of its downlink channel numbers, both ends included.
 *
 * - An absent end is the band's edge, and so is the band's own first or last number: the first and last numbers
 *   of a band give the same span as no numbers. Otherwise an end is the frequency of its number, in LTE with the
 *   100 kHz that the last EARFCN stands for.
 * - `undefined` when there is no such band, it has no downlink, an end lies outside of it, or `first` > `last`.
 */
export function downlinkSpan(
  technology: Technology,
  band: string,
  first?: number,
  last?: number,
): BandSpan | undefined {
  const span = technology === 'lte' ? lteSpan(band, first, last) : nrSpan(band, first, last)
  return span !== undefined && span.lowKhz <= span.highKhz ? span : undefined
}

/** Every band that has a downlink, with it, in the order of their numbers: LTE first. */
export function downlinkBands(): readonly (BandSpan & {
  readonly technology: Technology
  readonly band: string
})[] {
  const names = [
    ...LTE_BANDS.map(([number]) => ['lte', `b${number}`] as const),
    ...[...new Set(NR_BANDS.map(([band]) => band))].map((band) => ['nr', band] as const),
  ]
  return names.flatMap(([technology, band]) => {
    const span = downlinkSpan(technology, band)
    return span === undefined ? [] : [{ technology, band, ...span }]
  })
}

function lteSpan(band: string, first: number | undefined, last: number | undefined): BandSpan | undefined {
  const dl = lteBandRow(band)?.[2]
  if (dl === undefined) return undefined
  const lowKhz = lteDownlinkKhz(band, first ?? dl[2])
  const highKhz = lteDownlinkKhz(band, last ?? dl[3])
  return lowKhz === undefined || highKhz === undefined
    ? undefined
    : { lowKhz, highKhz: highKhz + EARFCN_STEP_KHZ }
}

function lteDownlinkKhz(band: string, earfcn: number): number | undefined {
  const found = lteChannel(earfcn)
  if (found?.band !== band || found.direction === 'UL' || found.downlinkMhz === undefined) return undefined
  return khzFromMhz(found.downlinkMhz)
}

function nrSpan(band: string, first: number | undefined, last: number | undefined): BandSpan | undefined {
  const ranges = nrBandRows(band).flatMap((row) => (row[2] === undefined ? [] : [row[2]]))
  const edges = ranges[0]
  if (edges === undefined) return undefined
  const start = Math.min(...ranges.map((range) => range[2]))
  const end = Math.max(...ranges.map((range) => range[4]))
  const isOutside = (channel: number): boolean => channel < start || channel > end
  if (isOutside(first ?? start) || isOutside(last ?? end)) return undefined
  const lowKhz = first === undefined || first === start ? edges[0] : khzFromNrArfcn(first)
  const highKhz = last === undefined || last === end ? edges[1] : khzFromNrArfcn(last)
  return lowKhz === undefined || highKhz === undefined ? undefined : { lowKhz, highKhz }
}

/**
 * Channel bandwidths in MHz that a band (`b3`, `n78`) has, ascending.
 *
 * - `'unknown'`: the tables of this package hold no verified list for the band.
 * - `undefined`: no such band.
 * - `scsKhz` narrows an NR band to one sub-carrier spacing; it says nothing in LTE.
 *
 * Source: TS 36.101 table 5.6.1-1, TS 38.101-1 table 5.3.5-1, TS 38.104 table 5.3.5-2.
 */
export function bandwidthsMhz(
  technology: Technology,
  band: string,
  scsKhz?: number,
): readonly number[] | 'unknown' | undefined {
  return technology === 'lte' ? lteBandwidths(band) : nrBandwidths(band, scsKhz)
}

/**
 * How an NR band may use one bandwidth at any of the given sub-carrier spacings.
 *
 * - `'unknown'`: the band has no list; `undefined`: the band has no such bandwidth at these spacings.
 * - A limit is reported only when it holds at every spacing that has the bandwidth.
 */
export function nrBandwidthUse(
  band: string,
  bandwidthMhz: number,
  scsKhz: readonly number[],
): readonly (keyof NrBandwidthLimits)[] | 'unknown' | undefined {
  const all = NR_CHANNEL_BANDWIDTHS.filter((row) => row[0] === band)
  if (all.length === 0) return 'unknown'
  const rows = all.filter((row) => scsKhz.includes(row[1]) && row[2].includes(bandwidthMhz))
  if (rows.length === 0) return undefined
  return LIMITS.filter((limit) => rows.every((row) => row[3][limit]?.includes(bandwidthMhz) === true))
}

const LIMITS: readonly (keyof NrBandwidthLimits)[] = ['dlOnly', 'ulOnly', 'scellOnly', 'positionRestricted']

function lteBandwidths(band: string): readonly number[] | 'unknown' | undefined {
  const row = lteBandRow(band)
  if (row === undefined) return undefined
  return row[4].length === 0 ? 'unknown' : row[4]
}

function nrBandwidths(band: string, scsKhz: number | undefined): readonly number[] | 'unknown' | undefined {
  if (nrBandRows(band).length === 0) return undefined
  const rows = NR_CHANNEL_BANDWIDTHS.filter((row) => row[0] === band)
  if (rows.length === 0) return 'unknown'
  const wanted = rows.filter((row) => scsKhz === undefined || row[1] === scsKhz)
  return [...new Set(wanted.flatMap((row) => row[2]))].sort((a, b) => a - b)
}
