import type { Technology } from '@steeple/contracts'
import type { ChannelDirection, Duplex } from './band-row.ts'
import { khzFromMhz } from './channel-number.ts'

/** The carrier that a problem is about: `band` and `channel` as given, bandwidth in MHz. */
interface ProblemSubject {
  readonly band: string
  readonly channel: number
  readonly bandwidthMhz: number | undefined
}

/** Severity of each problem and its sentence; `%b` band, `%c` channel, `%w` bandwidth. */
const PROBLEMS: Readonly<Record<CarrierProblemCode, readonly [CarrierProblem['severity'], string]>> = {
  off_raster: ['refuse', 'channel %c is not on the channel raster of %b'],
  enhanced_raster_only: ['refuse', 'channel %c is only on the 10 kHz enhanced raster of %b'],
  position_not_allowed: ['refuse', '%b does not list channel %c among its allowed ones for %w'],
  position_restricted: ['note', '%b allows %w in some positions only'],
  bandwidth_not_in_band: ['refuse', '%b has no channel bandwidth of %w'],
  bandwidth_unverified: ['note', 'the channel bandwidths of %b are not verified'],
  bandwidth_downlink_only: ['note', '%b has %w in the downlink only; the uplink is narrower'],
  bandwidth_uplink_only: ['note', '%b has %w in the uplink only; the downlink is narrower'],
  secondary_cell_only: ['note', '%b has %w for secondary cells only'],
  reserved_channel: ['refuse', 'channel %c is reserved at the edge of %b for %w'],
  out_of_band: ['refuse', 'a carrier of %w on channel %c sticks out of %b'],
  no_uplink: ['note', 'channel %c of %b has no uplink of its own'],
  no_downlink: ['note', 'channel %c of %b has no downlink of its own'],
  broadcast_only: ['note', '%b is for broadcast only'],
  sidelink_only: ['refuse', '%b is for sidelink only'],
  nb_iot_only: ['refuse', '%b is for standalone NB-IoT only'],
  licensed_assisted_only: [
    'note',
    '%b is for licensed-assisted access only; its channel list is not held here',
  ],
  withdrawn: ['note', '%b is not applicable any more'],
}

/** A problem of one carrier with its sentence, which names band, channel and bandwidth. */
export function carrierProblem(code: CarrierProblemCode, subject: ProblemSubject): CarrierProblem {
  const [severity, text] = PROBLEMS[code]
  const bandwidth = subject.bandwidthMhz === undefined ? 'any bandwidth' : `${subject.bandwidthMhz} MHz`
  const message = text
    .replace('%b', subject.band)
    .replace('%c', String(subject.channel))
    .replace('%w', bandwidth)
  return { code, severity, message }
}

/**
 * One side of a carrier, in whole kHz. With an unknown bandwidth all three are the centre.
 *
 * The edges are centre ± half the channel bandwidth. In NR the reference frequency may sit half a
 * sub-carrier beside the true middle (TS 38.104 §5.4.2.2); that is not counted here.
 */
export interface CarrierBlock {
  /** EARFCN or NR-ARFCN of the centre. */
  readonly channel: number
  readonly lowKhz: number
  readonly centreKhz: number
  readonly highKhz: number
}

/**
 * What keeps a carrier from being a proper channel of its band.
 *
 * - `off_raster`: the number lies between two channels of the band.
 * - `enhanced_raster_only`: a channel only for equipment that knows the 10 kHz raster.
 * - `position_not_allowed`: the band lists the allowed numbers and this one is not among them.
 * - `position_restricted`: the band allows this bandwidth in some positions only, which the tables do not hold.
 * - `bandwidth_not_in_band` / `bandwidth_unverified`: the band lacks the bandwidth / nobody verified its list.
 * - `bandwidth_downlink_only` / `bandwidth_uplink_only`: the other direction must be narrower.
 * - `secondary_cell_only`: the bandwidth is for carrier aggregation.
 * - `reserved_channel`: an EARFCN too near the band's edge for the bandwidth.
 * - `out_of_band`: the carrier sticks out of the band.
 * - `no_uplink`, `no_downlink`: the carrier has one direction and needs another carrier beside it.
 * - `broadcast_only`, `sidelink_only`, `nb_iot_only`, `licensed_assisted_only`, `withdrawn`: the band's notes.
 */
export type CarrierProblemCode =
  | 'off_raster'
  | 'enhanced_raster_only'
  | 'position_not_allowed'
  | 'position_restricted'
  | 'bandwidth_not_in_band'
  | 'bandwidth_unverified'
  | 'bandwidth_downlink_only'
  | 'bandwidth_uplink_only'
  | 'secondary_cell_only'
  | 'reserved_channel'
  | 'out_of_band'
  | 'no_uplink'
  | 'no_downlink'
  | 'broadcast_only'
  | 'sidelink_only'
  | 'nb_iot_only'
  | 'licensed_assisted_only'
  | 'withdrawn'

/**
 * A problem with the sentence that explains it.
 *
 * `severity`: `refuse` = the specification has no such carrier; `note` = it may be used, under a condition.
 */
export interface CarrierProblem {
  readonly code: CarrierProblemCode
  readonly severity: 'refuse' | 'note'
  readonly message: string
}

/** A channel number placed in one band, with both sides of its carrier and what is wrong with it. */
export interface Carrier {
  readonly technology: Technology
  /** Band name, `b3` or `n78`. */
  readonly band: string
  readonly channel: number
  readonly direction: ChannelDirection
  readonly duplex: Duplex
  readonly downlink: CarrierBlock | undefined
  readonly uplink: CarrierBlock | undefined
  readonly problems: readonly CarrierProblem[]
}

/** Whether the specification has this carrier: none of its problems is a refusal. */
export function isUsableCarrier(carrier: Carrier): boolean {
  return carrier.problems.every((problem) => problem.severity !== 'refuse')
}

/** The block of `bandwidthMhz` around a centre; without a bandwidth it has no width. */
function blockAround(channel: number, centreKhz: number, bandwidthMhz: number | undefined): CarrierBlock {
  const half = bandwidthMhz === undefined ? 0 : Math.ceil(khzFromMhz(bandwidthMhz) / 2)
  return { channel, lowKhz: centreKhz - half, centreKhz, highKhz: centreKhz + half }
}

/** The block around a frequency in MHz; undefined where the band has none in that direction. */
export function blockAt(
  mhz: number | undefined,
  channel: number,
  bandwidthMhz: number | undefined,
): CarrierBlock | undefined {
  return mhz === undefined ? undefined : blockAround(channel, khzFromMhz(mhz), bandwidthMhz)
}

/** Whether a block lies between two band edges in kHz; an absent block or band does not stick out. */
export function isInBand(
  block: CarrierBlock | undefined,
  band: readonly [lowKhz: number, highKhz: number, ...rest: number[]] | undefined,
): boolean {
  return block === undefined || band === undefined || (block.lowKhz >= band[0] && block.highKhz <= band[1])
}
