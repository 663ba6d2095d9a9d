import tables from './tables.json' with { type: 'json' }

/**
 * How a band uses its spectrum.
 *
 * `SDL` and `SDO` bands have no uplink (carrier aggregation only, broadcast only); `SUL` bands have no
 * downlink. TS 36.104 writes `SDL` bands as FDD with a note; the label is ours.
 *
 * Source: TS 36.104 table 5.5-1, TS 38.104 table 5.2-1.
 */
export type Duplex = 'FDD' | 'TDD' | 'SDL' | 'SUL' | 'SDO'

/** What a channel number names in its band: the downlink, the uplink, or (TDD) both. */
export type ChannelDirection = 'DL' | 'UL' | 'both'

/** Edges in kHz, first and last EARFCN of one direction of an E-UTRA band. */
export type LteRange = readonly [lowKhz: number, highKhz: number, first: number, last: number]

/**
 * One E-UTRA band: number, duplex, downlink, uplink, channel bandwidths in MHz (empty = not verified).
 *
 * A TDD band has its range under `dl` alone.
 */
export type LteBandRow = readonly [
  band: number,
  duplex: Duplex,
  dl: LteRange,
  ul: LteRange | undefined,
  bandwidthsMhz: readonly number[],
]

/** Edges in kHz, first NR-ARFCN, step and last NR-ARFCN of one direction of an NR band. */
export type NrRange = readonly [lowKhz: number, highKhz: number, first: number, step: number, last: number]

/**
 * One NR band on one channel raster; `scsKhz` are the sub-carrier spacings that may use that raster.
 *
 * The channel raster is the step times the global raster. A TDD band has its range under `dl` alone.
 */
export type NrBandRow = readonly [
  band: string,
  duplex: Duplex,
  dl: NrRange | undefined,
  ul: NrRange | undefined,
  scsKhz: readonly number[],
]

/** Channel bandwidths in MHz that the notes of the table limit to one use. */
export interface NrBandwidthLimits {
  /** Only in the downlink; the uplink carrier is narrower. */
  readonly dlOnly?: readonly number[]
  /** Only in the uplink; the downlink carrier is narrower. */
  readonly ulOnly?: readonly number[]
  /** Only as a secondary cell of carrier aggregation. */
  readonly scellOnly?: readonly number[]
  /** Only in some positions inside the band, which the table's notes name. */
  readonly positionRestricted?: readonly number[]
}

/** Channel bandwidths of one NR band at one sub-carrier spacing. */
export type NrBandwidthRow = readonly [
  band: string,
  scsKhz: number,
  bandwidthsMhz: readonly number[],
  limits: NrBandwidthLimits,
]

/** NR-ARFCNs that a band allows for one channel bandwidth. */
export type NrRestrictedRow = readonly [
  band: string,
  bandwidthMhz: number,
  direction: ChannelDirection,
  channels: readonly number[],
]

/** One part of the global frequency raster: F = offset + step x (N - nOffset), for first <= N <= last. */
export type NrGlobalRasterRow = readonly [
  lowKhz: number,
  highKhz: number,
  stepKhz: number,
  offsetKhz: number,
  nOffset: number,
  first: number,
  last: number,
]

/**
 * The E-UTRA bands: edges in kHz, EARFCN ranges, channel bandwidths in MHz.
 *
 * An empty bandwidth list means that no two sources agree on it, not that the band has none.
 *
 * Source: TS 36.101 tables 5.5-1, 5.6.1-1 and 5.7.3-1, TS 36.104 tables 5.5-1 and 5.7.3-1.
 */
export const LTE_BANDS: readonly LteBandRow[] = rowsOf(tables.lte)

/**
 * The NR bands, one row per band and channel raster: edges in kHz, NR-ARFCN ranges with their step.
 *
 * Source: TS 38.104 tables 5.2-1, 5.2-2, 5.4.2.3-1 and 5.4.2.3-2, TS 38.101-1 tables 5.2-1 and 5.4.2.3-1.
 */
export const NR_BANDS: readonly NrBandRow[] = rowsOf(tables.nr)

/**
 * The NR bands on the 10 kHz enhanced channel raster, which only Rel-18 and later equipment knows.
 *
 * Source: TS 38.104 and TS 38.101-1 clause 5.4.2.3, Rel-18 on.
 */
export const NR_BANDS_ENHANCED_RASTER: readonly NrBandRow[] = rowsOf(tables.nrEnhancedRaster)

/**
 * Channel bandwidths in MHz per NR band and sub-carrier spacing in kHz, with the limits the notes set.
 *
 * Source: TS 38.101-1 table 5.3.5-1 (Rel-19), TS 38.104 table 5.3.5-2 for n257 to n262.
 */
export const NR_CHANNEL_BANDWIDTHS: readonly NrBandwidthRow[] = rowsOf(tables.nrBandwidths)

/**
 * NR-ARFCNs that a band allows for one channel bandwidth in MHz only.
 *
 * Source: notes of TS 38.104 table 5.4.2.3-1 and TS 38.101-1 table 5.4.2.3-1.
 */
export const NR_RESTRICTED_ARFCN: readonly NrRestrictedRow[] = rowsOf(tables.nrRestricted)

/**
 * The three parts of the NR global frequency raster, in kHz.
 *
 * Source: TS 38.104 table 5.4.2.1-1.
 */
export const NR_GLOBAL_RASTER: readonly NrGlobalRasterRow[] = rowsOf(tables.nrGlobalRaster)

/** Rows as JSON holds them, where `null` is a direction that a band has not. */
function rowsOf<Row>(table: readonly (readonly unknown[])[]): readonly Row[] {
  return table.map((row) => row.map((cell) => cell ?? undefined)) as readonly unknown[] as readonly Row[]
}
