import { type ChannelDirection, type Duplex, LTE_BANDS, type LteBandRow, type LteRange } from './band-row.ts'
import { mhzFromKhz } from './channel-number.ts'

/** Distance of two neighbouring EARFCNs. Source: TS 36.101 §5.7.3. */
const STEP_KHZ = 100

/**
 * An EARFCN placed in its band.
 *
 * - `downlinkMhz` / `uplinkMhz`: centre frequencies; absent where the band has none, or no default partner.
 * - `pairedEarfcn`: the number of the other direction at the default spacing; in a TDD band the number itself.
 */
export interface LteChannel {
  readonly channel: number
  /** Band name, `b3`. */
  readonly band: string
  readonly duplex: Duplex
  readonly direction: ChannelDirection
  readonly downlinkMhz: number | undefined
  readonly uplinkMhz: number | undefined
  readonly pairedEarfcn: number | undefined
}

/**
 * The band and frequencies of an EARFCN, which lies in at most one band; `undefined` in a gap of the plan.
 *
 * Source: TS 36.101 §5.7.3 and §5.7.4, F = F_low + 0.1 MHz x (N - N_Offs).
 */
export function lteChannel(earfcn: number): LteChannel | undefined {
  if (!Number.isInteger(earfcn)) return undefined
  for (const row of LTE_BANDS) {
    const found = inBand(row, earfcn)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * The EARFCN of a centre frequency in kHz in the downlink or uplink of a band (`b3`).
 *
 * `undefined` off the 100 kHz raster, outside the band, or when the band has no such direction.
 */
export function earfcnFromKhz(band: string, direction: 'DL' | 'UL', khz: number): number | undefined {
  const row = lteBandRow(band)
  const range = row === undefined ? undefined : direction === 'DL' ? row[2] : lteUplink(row)
  if (range === undefined) return undefined
  const channel = range[2] + (khz - range[0]) / STEP_KHZ
  return Number.isInteger(channel) && isInside(range, channel) ? channel : undefined
}

/** The row of the band `b<number>`. */
export function lteBandRow(band: string): LteBandRow | undefined {
  return LTE_BANDS.find((row) => `b${row[0]}` === band)
}

/** Uplink range of a band: its own, or in TDD the shared one. */
export function lteUplink(row: LteBandRow): LteRange | undefined {
  return row[1] === 'TDD' ? row[2] : row[3]
}

function inBand(row: LteBandRow, channel: number): LteChannel | undefined {
  const [number, duplex, dl, ul] = row
  const place = { channel, band: `b${number}`, duplex }
  if (duplex === 'TDD') {
    if (!isInside(dl, channel)) return undefined
    const mhz = mhzOf(dl, channel)
    return { ...place, direction: 'both', downlinkMhz: mhz, uplinkMhz: mhz, pairedEarfcn: channel }
  }
  if (isInside(dl, channel)) {
    const paired = ul === undefined ? undefined : partner(dl, ul, channel)
    const uplinkMhz = ul === undefined || paired === undefined ? undefined : mhzOf(ul, paired)
    return { ...place, direction: 'DL', downlinkMhz: mhzOf(dl, channel), uplinkMhz, pairedEarfcn: paired }
  }
  if (ul === undefined || !isInside(ul, channel)) return undefined
  const paired = partner(ul, dl, channel)
  const downlinkMhz = paired === undefined ? undefined : mhzOf(dl, paired)
  return { ...place, direction: 'UL', downlinkMhz, uplinkMhz: mhzOf(ul, channel), pairedEarfcn: paired }
}

function isInside(range: LteRange, channel: number): boolean {
  return channel >= range[2] && channel <= range[3]
}

function mhzOf(range: LteRange, channel: number): number {
  return mhzFromKhz(range[0] + STEP_KHZ * (channel - range[2]))
}

/** The same place in the other direction; the default spacing of every band is low edge to low edge (§5.7.4). */
function partner(from: LteRange, to: LteRange, channel: number): number | undefined {
  const paired = to[2] + (channel - from[2])
  return isInside(to, paired) ? paired : undefined
}
