import type { Technology } from '@steeple/contracts'
import { NR_CHANNEL_BANDWIDTHS, type NrBandwidthLimits } from './band-row.ts'
import { lteBandRow } from './lte-channel.ts'
import { nrBandRows } from './nr-channel.ts'

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
