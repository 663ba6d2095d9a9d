import type { CarrierProblem, CarrierProblemCode } from './carrier.ts'

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
