import type { ChannelDirection, Duplex, NrBandRow, NrRange } from './band-row.ts'
import { type NrArfcn, parseNrArfcn } from './channel-number.ts'
import { NR_BANDS } from './data/nr-bands.ts'
import { mhzFromKhz } from './frequency.ts'
import { isExtraPoint } from './nr-positions.ts'
import { khzFromNrArfcn, nrArfcnFromKhz } from './nr-raster.ts'

// Written by scripts/make-band-data.mjs; change the tables in fixtures/bands, not this file.
/**
 * The NR bands on the 10 kHz enhanced channel raster, which only Rel-18 and later equipment knows.
 *
 * Source: TS 38.104 and TS 38.101-1 clause 5.4.2.3, Rel-18 on.
 */
export const NR_BANDS_ENHANCED_RASTER: readonly NrBandRow[] = [
  ['n1', 'FDD', [2110000, 2170000, 422000, 2, 434000], [1920000, 1980000, 384000, 2, 396000], [15, 30, 60]],
  ['n2', 'FDD', [1930000, 1990000, 386000, 2, 398000], [1850000, 1910000, 370000, 2, 382000], [15, 30, 60]],
  ['n3', 'FDD', [1805000, 1880000, 361000, 2, 376000], [1710000, 1785000, 342000, 2, 357000], [15, 30, 60]],
  ['n5', 'FDD', [869000, 894000, 173800, 2, 178800], [824000, 849000, 164800, 2, 169800], [15, 30]],
  ['n7', 'FDD', [2620000, 2690000, 524000, 2, 538000], [2500000, 2570000, 500000, 2, 514000], [15, 30, 60]],
  ['n8', 'FDD', [925000, 960000, 185000, 2, 192000], [880000, 915000, 176000, 2, 183000], [15, 30]],
  ['n12', 'FDD', [729000, 746000, 145800, 2, 149200], [699000, 716000, 139800, 2, 143200], [15, 30]],
  ['n13', 'FDD', [746000, 756000, 149200, 2, 151200], [777000, 787000, 155400, 2, 157400], [15, 30]],
  ['n14', 'FDD', [758000, 768000, 151600, 2, 153600], [788000, 798000, 157600, 2, 159600], [15, 30]],
  ['n18', 'FDD', [860000, 875000, 172000, 2, 175000], [815000, 830000, 163000, 2, 166000], [15, 30]],
  ['n20', 'FDD', [791000, 821000, 158200, 2, 164200], [832000, 862000, 166400, 2, 172400], [15, 30]],
  ['n24', 'FDD', [1525000, 1559000, 305000, 2, 311800], [1626500, 1660500, 325300, 2, 332100], [15, 30, 60]],
  ['n25', 'FDD', [1930000, 1995000, 386000, 2, 399000], [1850000, 1915000, 370000, 2, 383000], [15, 30, 60]],
  ['n26', 'FDD', [859000, 894000, 171800, 2, 178800], [814000, 849000, 162800, 2, 169800], [15, 30]],
  ['n28', 'FDD', [758000, 803000, 151600, 2, 160600], [703000, 748000, 140600, 2, 149600], [15, 30]],
  ['n29', 'SDL', [717000, 728000, 143400, 2, 145600], undefined, [15, 30]],
  ['n30', 'FDD', [2350000, 2360000, 470000, 2, 472000], [2305000, 2315000, 461000, 2, 463000], [15, 30]],
  ['n34', 'TDD', [2010000, 2025000, 402000, 2, 405000], undefined, [15, 30, 60]],
  ['n38', 'TDD', [2570000, 2620000, 514000, 2, 524000], undefined, [15, 30, 60]],
  ['n39', 'TDD', [1880000, 1920000, 376000, 2, 384000], undefined, [15, 30, 60]],
  ['n40', 'TDD', [2300000, 2400000, 460000, 2, 480000], undefined, [15, 30, 60]],
  ['n50', 'TDD', [1432000, 1517000, 286400, 2, 303400], undefined, [15, 30, 60]],
  ['n53', 'TDD', [2483500, 2495000, 496700, 2, 499000], undefined, [15, 30, 60]],
  ['n65', 'FDD', [2110000, 2200000, 422000, 2, 440000], [1920000, 2010000, 384000, 2, 402000], [15, 30, 60]],
  ['n66', 'FDD', [2110000, 2200000, 422000, 2, 440000], [1710000, 1780000, 342000, 2, 356000], [15, 30, 60]],
  ['n67', 'SDL', [738000, 758000, 147600, 2, 151600], undefined, [15, 30]],
  ['n68', 'FDD', [753000, 783000, 150600, 2, 156600], [698000, 728000, 139600, 2, 145600], [15, 30]],
  ['n70', 'FDD', [1995000, 2020000, 399000, 2, 404000], [1695000, 1710000, 339000, 2, 342000], [15, 30, 60]],
  ['n71', 'FDD', [617000, 652000, 123400, 2, 130400], [663000, 698000, 132600, 2, 139600], [15, 30]],
  ['n74', 'FDD', [1475000, 1518000, 295000, 2, 303600], [1427000, 1470000, 285400, 2, 294000], [15, 30, 60]],
  ['n75', 'SDL', [1432000, 1517000, 286400, 2, 303400], undefined, [15, 30, 60]],
  ['n80', 'SUL', undefined, [1710000, 1785000, 342000, 2, 357000], [15, 30, 60]],
  ['n81', 'SUL', undefined, [880000, 915000, 176000, 2, 183000], [15, 30]],
  ['n82', 'SUL', undefined, [832000, 862000, 166400, 2, 172400], [15, 30]],
  ['n83', 'SUL', undefined, [703000, 748000, 140600, 2, 149600], [15, 30]],
  ['n84', 'SUL', undefined, [1920000, 1980000, 384000, 2, 396000], [15, 30, 60]],
  ['n85', 'FDD', [728000, 746000, 145600, 2, 149200], [698000, 716000, 139600, 2, 143200], [15, 30]],
  ['n86', 'SUL', undefined, [1710000, 1780000, 342000, 2, 356000], [15, 30, 60]],
  ['n89', 'SUL', undefined, [824000, 849000, 164800, 2, 169800], [15, 30]],
  ['n90', 'TDD', [2496000, 2690000, 499200, 2, 538000], undefined, [15, 30, 60]],
  ['n91', 'FDD', [1427000, 1432000, 285400, 2, 286400], [832000, 862000, 166400, 2, 172400], [15]],
  ['n92', 'FDD', [1432000, 1517000, 286400, 2, 303400], [832000, 862000, 166400, 2, 172400], [15, 30]],
  ['n93', 'FDD', [1427000, 1432000, 285400, 2, 286400], [880000, 915000, 176000, 2, 183000], [15]],
  ['n94', 'FDD', [1432000, 1517000, 286400, 2, 303400], [880000, 915000, 176000, 2, 183000], [15, 30]],
  ['n95', 'SUL', undefined, [2010000, 2025000, 402000, 2, 405000], [15, 30, 60]],
  ['n97', 'SUL', undefined, [2300000, 2400000, 460000, 2, 480000], [15, 30, 60]],
  ['n98', 'SUL', undefined, [1880000, 1920000, 376000, 2, 384000], [15, 30, 60]],
  ['n99', 'SUL', undefined, [1626500, 1660500, 325300, 2, 332100], [15, 30, 60]],
  ['n100', 'FDD', [919400, 925000, 183880, 2, 185000], [874400, 880000, 174880, 2, 176000], [15]],
  ['n101', 'TDD', [1900000, 1910000, 380000, 2, 382000], undefined, [15, 30]],
  ['n105', 'FDD', [612000, 652000, 122400, 2, 130400], [663000, 703000, 132600, 2, 140600], [15, 30]],
  ['n109', 'FDD', [1432000, 1517000, 286400, 2, 303400], [703000, 733000, 140600, 2, 146600], [15, 30]],
]

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
