import {
  type ChannelDirection,
  type Duplex,
  NR_BANDS,
  NR_BANDS_ENHANCED_RASTER,
  type NrBandRow,
  type NrRange,
} from './band-row.ts'
import { type NrArfcn, parseNrArfcn } from './channel-number.ts'
import { mhzFromKhz } from './frequency.ts'
import { isExtraPoint } from './nr-positions.ts'
import { khzFromNrArfcn, nrArfcnFromKhz } from './nr-raster.ts'

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
  readonly pairedNrArfcn: NrArfcn | undefined
}

/** An NR-ARFCN with its frequency and every band whose downlink or uplink range holds it. */
export interface NrChannel {
  readonly channel: NrArfcn
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
export function nrChannel(nrArfcn: number): NrChannel | undefined {
  const channel = parseNrArfcn(nrArfcn)
  const khz = khzFromNrArfcn(nrArfcn)
  if (channel === undefined || khz === undefined) return undefined
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

function positionIn(row: NrBandRow, channel: NrArfcn, khz: number): NrBandPosition | undefined {
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
function partner(row: NrBandRow, direction: ChannelDirection, khz: number): NrArfcn | undefined {
  const [band, , dl, ul] = row
  if (dl === undefined || ul === undefined || VARIABLE_DUPLEX.includes(band)) return undefined
  const [from, to] = direction === 'UL' ? [ul, dl] : [dl, ul]
  const paired = nrArfcnFromKhz(to[0] + (khz - from[0]))
  return isInside(to, paired ?? -1) ? paired : undefined
}
