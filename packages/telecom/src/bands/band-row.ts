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
