import { nrBandwidthUse } from './band.ts'
import type { NrBandwidthLimits } from './band-row.ts'
import { blockAt, type Carrier, type CarrierProblemCode, carrierProblem, isInBand } from './carrier.ts'
import {
  isExtraPoint,
  listedBandwidths,
  listedPosition,
  type NrBandPosition,
  nrBandRows,
  nrChannel,
  nrUplink,
} from './nr-channel.ts'

/** What narrows the judgement of an NR carrier: bandwidth in MHz, sub-carrier spacing in kHz, Rel-18 raster. */
export interface NrCarrierOptions {
  readonly bandwidthMhz?: number | undefined
  readonly scsKhz?: number | undefined
  /** The equipment knows the 10 kHz enhanced channel raster (Rel-18 on). */
  readonly allowEnhancedRaster?: boolean | undefined
}

/** Bands for V2X sidelink alone, without base stations. Source: TS 38.101-1 table 5.2-1, note for n47. */
const SIDELINK_BANDS: readonly string[] = ['n47']

/** The problem that each limit of the bandwidth table stands for. */
const LIMIT_PROBLEMS: Readonly<Record<keyof NrBandwidthLimits, CarrierProblemCode>> = {
  dlOnly: 'bandwidth_downlink_only',
  ulOnly: 'bandwidth_uplink_only',
  scellOnly: 'secondary_cell_only',
  positionRestricted: 'position_restricted',
}

/**
 * The carriers of an NR-ARFCN, one for each band whose range holds it, in table order.
 *
 * Without a bandwidth only the position is judged.
 */
export function nrCarriers(nrArfcn: number, options: NrCarrierOptions): readonly Carrier[] {
  const found = nrChannel(nrArfcn)
  if (found === undefined) return []
  return found.bands.map((position) => carrierAt(position, found.channel, options))
}

function carrierAt(position: NrBandPosition, channel: number, options: NrCarrierOptions): Carrier {
  const { band, direction, duplex } = position
  const { bandwidthMhz } = options
  const partner = position.pairedNrArfcn ?? channel
  const downlink = blockAt(position.downlinkMhz, direction === 'UL' ? partner : channel, bandwidthMhz)
  const uplink = blockAt(position.uplinkMhz, direction === 'DL' ? partner : channel, bandwidthMhz)
  const codes = new Set([
    ...rasterProblems(position, channel, options),
    ...listProblems(position, channel, bandwidthMhz),
    ...bandwidthProblems(position, options),
    ...edgeProblems(position, channel, { downlink, uplink }, bandwidthMhz),
  ])
  const problems = [...codes].map((code) => carrierProblem(code, { band, channel, bandwidthMhz }))
  return { technology: 'nr', band, channel, direction, duplex, downlink, uplink, problems }
}

function rasterProblems(
  position: NrBandPosition,
  channel: number,
  { bandwidthMhz, scsKhz, allowEnhancedRaster }: NrCarrierOptions,
): readonly CarrierProblemCode[] {
  if (position.raster === 'off') return ['off_raster']
  if (scsKhz !== undefined && !position.scsKhz.includes(scsKhz)) return ['off_raster']
  if (position.raster === 'enhanced') return allowEnhancedRaster === true ? [] : ['enhanced_raster_only']
  const isForOthers =
    bandwidthMhz !== undefined &&
    isExtraPoint(position.band, channel) &&
    !isListedFor(position, channel, bandwidthMhz)
  return isForOthers ? ['off_raster'] : []
}

function listProblems(
  position: NrBandPosition,
  channel: number,
  bandwidthMhz: number | undefined,
): readonly CarrierProblemCode[] {
  const codes: CarrierProblemCode[] = []
  const listed = listedPosition(position.band, channel, position.direction, bandwidthMhz)
  if (!listed.allowed) codes.push('position_not_allowed')
  if (SIDELINK_BANDS.includes(position.band)) codes.push('sidelink_only')
  if (listed.isDownlinkOnly || position.uplinkMhz === undefined) codes.push('no_uplink')
  if (position.downlinkMhz === undefined) codes.push('no_downlink')
  return codes
}

function usesOf(
  position: NrBandPosition,
  { bandwidthMhz, scsKhz }: NrCarrierOptions,
): ReturnType<typeof nrBandwidthUse> {
  const rows = nrBandRows(position.band)
  const onPoint = position.scsKhz.length > 0 ? position.scsKhz : rows.flatMap((row) => row[4])
  const spacings = scsKhz === undefined ? onPoint : [scsKhz]
  return bandwidthMhz === undefined ? [] : nrBandwidthUse(position.band, bandwidthMhz, spacings)
}

function bandwidthProblems(
  position: NrBandPosition,
  options: NrCarrierOptions,
): readonly CarrierProblemCode[] {
  const uses = usesOf(position, options)
  if (uses === 'unknown') return ['bandwidth_unverified']
  if (uses === undefined) return ['bandwidth_not_in_band']
  const isWrongWay =
    (position.direction === 'DL' && uses.includes('ulOnly')) ||
    (position.direction === 'UL' && uses.includes('dlOnly'))
  return isWrongWay ? ['bandwidth_not_in_band'] : uses.map((use) => LIMIT_PROBLEMS[use])
}

/**
 * Both sides must lie in the band, with two exceptions: a side that the bandwidth is not for, since it is narrower
 * than drawn (TS 38.101-1 §5.3.6), and a listed position, where the raster puts an edge up to 20 kHz outside.
 */
function edgeProblems(
  position: NrBandPosition,
  channel: number,
  sides: Pick<Carrier, 'downlink' | 'uplink'>,
  bandwidthMhz: number | undefined,
): readonly CarrierProblemCode[] {
  const row = nrBandRows(position.band)[0]
  if (row === undefined || bandwidthMhz === undefined) return []
  if (isListedFor(position, channel, bandwidthMhz)) return []
  const uses = usesOf(position, { bandwidthMhz })
  const has = (use: 'dlOnly' | 'ulOnly'): boolean => Array.isArray(uses) && uses.includes(use)
  const isDownlinkOut = !has('ulOnly') && !isInBand(sides.downlink, row[2])
  const isUplinkOut = !has('dlOnly') && !isInBand(sides.uplink, nrUplink(row))
  return isDownlinkOut || isUplinkOut ? ['out_of_band'] : []
}

function isListedFor({ band }: NrBandPosition, channel: number, bandwidthMhz: number): boolean {
  return listedBandwidths(band, channel).some(([bandwidth]) => bandwidth === bandwidthMhz)
}
