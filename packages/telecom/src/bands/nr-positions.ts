import { type ChannelDirection, NR_RESTRICTED_ARFCN } from './band-row.ts'

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
