import {
  type ChannelDirection,
  type Duplex,
  NR_BANDS,
  NR_BANDS_ENHANCED_RASTER,
  NR_GLOBAL_RASTER,
  NR_RESTRICTED_ARFCN,
  type NrBandRow,
  type NrRange,
} from './band-row.ts'
import { mhzFromKhz } from './channel-number.ts'

/**
 * Bands in which the listed NR-ARFCNs are the only allowed ones. The other listed band, n28, has its point
 * in addition to the channel raster.
 *
 * Source: notes of TS 38.101-1 table 5.4.2.3-1.
 */
const LISTED_ONLY: readonly string[] = ['n46', 'n96', 'n102', 'n106']

/** Whether the number is a channel of the band beside its channel raster (n28, 40 MHz). */
export function isExtraPoint(band: string, channel: number): boolean {
  return !LISTED_ONLY.includes(band) && listedBandwidths(band, channel).length > 0
}

/**
 * What the band's list of allowed numbers says of a channel.
 *
 * - `allowed`: false when the band has a list for it and the number is not on it.
 * - `isDownlinkOnly`: the number is listed for the downlink of a TDD band alone.
 *
 * `bandwidthMhz` absent asks for any bandwidth.
 */
export function listedPosition(
  band: string,
  channel: number,
  direction: ChannelDirection,
  bandwidthMhz: number | undefined,
): { readonly allowed: boolean; readonly isDownlinkOnly: boolean } {
  if (!LISTED_ONLY.includes(band)) return { allowed: true, isDownlinkOnly: false }
  const listed = listedBandwidths(band, channel).filter(
    ([bandwidth]) => bandwidthMhz === undefined || bandwidth === bandwidthMhz,
  )
  const isDownlinkOnly = direction === 'both' && listed.length > 0 && listed.every(([, use]) => use === 'DL')
  return { allowed: listed.length > 0, isDownlinkOnly }
}

/** Bandwidths in MHz, with the direction, that the list gives for a number. */
export function listedBandwidths(
  band: string,
  channel: number,
): readonly (readonly [bandwidthMhz: number, direction: ChannelDirection])[] {
  return NR_RESTRICTED_ARFCN.filter((row) => row[0] === band && row[3].includes(channel)).map(
    ([, bandwidthMhz, direction]) => [bandwidthMhz, direction],
  )
}

/**
 * Frequency of an NR-ARFCN on the global raster, in kHz; every point is a whole number of kHz.
 *
 * `undefined` outside 0 to 3279165.
 *
 * Source: TS 38.104 §5.4.2.1, F_REF = F_REF-Offs + ΔF_Global x (N_REF - N_REF-Offs).
 */
export function khzFromNrArfcn(channel: number): number | undefined {
  if (!Number.isInteger(channel)) return undefined
  for (const [, , stepKhz, offsetKhz, nOffset, first, last] of NR_GLOBAL_RASTER) {
    if (channel >= first && channel <= last) return offsetKhz + stepKhz * (channel - nOffset)
  }
  return undefined
}

/** The NR-ARFCN nearest to a frequency in kHz; `undefined` beyond the raster. Source: TS 38.104 §5.4.2.1. */
export function nearestNrArfcn(khz: number): number | undefined {
  const row = NR_GLOBAL_RASTER.findLast(([lowKhz]) => khz >= lowKhz)
  if (row === undefined) return undefined
  const channel = row[4] + Math.round((khz - row[3]) / row[2])
  return khzFromNrArfcn(channel) === undefined ? undefined : channel
}

/** Step of the global raster at a frequency in kHz: 5, 15 or 60 kHz. Source: TS 38.104 table 5.4.2.1-1. */
export function nrRasterStepKhz(khz: number): number {
  return NR_GLOBAL_RASTER.findLast(([lowKhz]) => khz >= lowKhz)?.[2] ?? 0
}

/**
 * The NR-ARFCN whose frequency is exactly `khz`; `undefined` when no point of the global raster is there.
 *
 * Source: TS 38.104 §5.4.2.1.
 */
export function nrArfcnFromKhz(khz: number): number | undefined {
  for (const [, , stepKhz, offsetKhz, nOffset, first, last] of NR_GLOBAL_RASTER) {
    const channel = nOffset + (khz - offsetKhz) / stepKhz
    if (channel >= first && channel <= last) return Number.isInteger(channel) ? channel : undefined
  }
  return undefined
}

/**
 * The FDD bands without a default distance between downlink and uplink.
 *
 * Source: TS 38.101-1 table 5.4.4-1.
 */
const VARIABLE_DUPLEX: readonly string[] = ['n91', 'n92', 'n93', 'n94', 'n109', 'n110']

/**
 * An NR-ARFCN placed in one of the bands whose range holds it.
 *
 * - `raster`: `standard` = on the band's channel raster; `enhanced` = only on the 10 kHz raster of Rel-18 on;
 *   `off` = in the band's range but no channel of it.
 * - `scsKhz`: the sub-carrier spacings that may use this point; empty when `raster` is `off`.
 * - `pairedNrArfcn`: the number of the other direction at the default spacing; in a TDD band the number itself.
 */
export interface NrBandPosition {
  /** Band name, `n78`. */
  readonly band: string
  readonly duplex: Duplex
  readonly direction: ChannelDirection
  readonly raster: 'standard' | 'enhanced' | 'off'
  readonly scsKhz: readonly number[]
  readonly downlinkMhz: number | undefined
  readonly uplinkMhz: number | undefined
  readonly pairedNrArfcn: number | undefined
}

/** An NR-ARFCN with its frequency and every band whose downlink or uplink range holds it. */
export interface NrChannel {
  readonly channel: number
  readonly frequencyMhz: number
  readonly bands: readonly NrBandPosition[]
}

/**
 * Frequency and bands of an NR-ARFCN; `undefined` outside 0 to 3279165, an empty list where no band is.
 *
 * One number may be a downlink of one band and an uplink of another; each band is listed once.
 *
 * Source: TS 38.104 §5.4.2 (rasters), TS 38.101-1 §5.4.4 (default spacing).
 */
export function nrChannel(channel: number): NrChannel | undefined {
  const khz = khzFromNrArfcn(channel)
  if (khz === undefined) return undefined
  const bands: NrBandPosition[] = []
  for (const row of NR_BANDS) {
    if (bands.some((seen) => seen.band === row[0])) continue
    const position = positionIn(row, channel, khz)
    if (position !== undefined) bands.push(position)
  }
  return { channel, frequencyMhz: mhzFromKhz(khz), bands }
}

/** The rows of one band, one for each channel raster; empty for an unknown band. */
export function nrBandRows(band: string): readonly NrBandRow[] {
  return NR_BANDS.filter((row) => row[0] === band)
}

/** Uplink range of a band: its own, or in TDD the shared one. */
export function nrUplink(row: NrBandRow): NrRange | undefined {
  return row[1] === 'TDD' ? row[2] : row[3]
}

function positionIn(row: NrBandRow, channel: number, khz: number): NrBandPosition | undefined {
  const [band, duplex] = row
  const rows = nrBandRows(band)
  const direction = directionOf(rows, channel)
  if (direction === undefined) return undefined
  const paired = duplex === 'TDD' ? channel : partner(row, direction, khz)
  const pairedKhz = paired === undefined ? undefined : khzFromNrArfcn(paired)
  const here = mhzFromKhz(khz)
  const there = pairedKhz === undefined ? undefined : mhzFromKhz(pairedKhz)
  return {
    band,
    duplex,
    direction,
    ...rasterOf(rows, direction, channel),
    downlinkMhz: direction === 'UL' ? there : here,
    uplinkMhz: direction === 'DL' ? there : here,
    pairedNrArfcn: paired,
  }
}

function directionOf(rows: readonly NrBandRow[], channel: number): ChannelDirection | undefined {
  for (const [, duplex, dl, ul] of rows) {
    if (isInside(dl, channel)) return duplex === 'TDD' ? 'both' : 'DL'
    if (isInside(ul, channel)) return 'UL'
  }
  return undefined
}

function rasterOf(
  rows: readonly NrBandRow[],
  direction: ChannelDirection,
  channel: number,
): Pick<NrBandPosition, 'raster' | 'scsKhz'> {
  const band = rows[0]?.[0] ?? ''
  const standard = rows.filter((row) => isOnRaster(row, direction, channel))
  if (standard.length > 0) return { raster: 'standard', scsKhz: spacingsOf(standard) }
  if (isExtraPoint(band, channel)) return { raster: 'standard', scsKhz: spacingsOf(rows) }
  const enhanced = NR_BANDS_ENHANCED_RASTER.filter(
    (row) => row[0] === band && isOnRaster(row, direction, channel),
  )
  if (enhanced.length > 0) return { raster: 'enhanced', scsKhz: spacingsOf(enhanced) }
  return { raster: 'off', scsKhz: [] }
}

function spacingsOf(rows: readonly NrBandRow[]): readonly number[] {
  return [...new Set(rows.flatMap((row) => row[4]))].sort((a, b) => a - b)
}

function isInside(range: NrRange | undefined, channel: number): boolean {
  return range !== undefined && channel >= range[2] && channel <= range[4]
}

function isOnRaster(row: NrBandRow, direction: ChannelDirection, channel: number): boolean {
  const range = direction === 'UL' ? row[3] : row[2]
  return range !== undefined && isInside(range, channel) && (channel - range[2]) % range[3] === 0
}

/** The same distance from the low edge in the other direction, which is the default spacing of §5.4.4. */
function partner(row: NrBandRow, direction: ChannelDirection, khz: number): number | undefined {
  const [band, , dl, ul] = row
  if (dl === undefined || ul === undefined || VARIABLE_DUPLEX.includes(band)) return undefined
  const [from, to] = direction === 'UL' ? [ul, dl] : [dl, ul]
  const paired = nrArfcnFromKhz(to[0] + (khz - from[0]))
  return isInside(to, paired ?? -1) ? paired : undefined
}
