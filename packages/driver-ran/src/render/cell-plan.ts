import type { RadioProfile } from '@steeple/contracts'
import { lteChannel, nrChannel } from '@steeple/telecom'
import { type SpacingKhz, spacingOf } from './nr-spacing.ts'

/** One reason why a radio process must not be started with these settings. `key` names the setting. */
export interface RenderProblem {
  readonly key: string
  readonly message: string
}

/** The carrier of a profile as the radio process must announce it. Frequencies in MHz. */
export interface CellPlan {
  readonly technology: 'lte' | 'nr'
  readonly channel: number
  readonly bandwidthMhz: number
  /** Resource blocks of an LTE carrier; undefined in NR. TS 36.104 table 5.6-1. */
  readonly resourceBlocks: number | undefined
  readonly downlinkMhz: number
  readonly uplinkMhz: number | undefined
  /** Band number of an NR carrier. */
  readonly nrBand: number | undefined
  /** Sub-carrier spacing of an NR carrier. */
  readonly scsKhz: SpacingKhz | undefined
}

/** TS 36.104 table 5.6-1: resource blocks by channel bandwidth in MHz. srsenb starts with any other number as well. */
const RESOURCE_BLOCKS: ReadonlyMap<number, number> = new Map([
  [1.4, 6],
  [3, 15],
  [5, 25],
  [10, 50],
  [15, 75],
  [20, 100],
])

/**
 * The band in SIB1 of TS 36.331; a higher one stands in an extension (v9e0) that srsenb does not write. It sends, and no phone can
 * read what it sends; EARFCNs behind the end of its table of bands, in b71, it refuses.
 */
const SRSENB_BAND_MAX = 64
/** TS 36.101 table 5.7.3-1 begins b22 at 3510 MHz and srsenb at 3500: it would send 10 MHz below the channel that was permitted. */
const MISPLACED_IN_SRSENB: ReadonlySet<string> = new Set(['b22'])

/** Bandwidths in MHz that gnb takes for a carrier in frequency range 1. */
const NR_BANDWIDTHS: readonly number[] = [5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100]

/** Why a program emits no profile of that technology; undefined when it does. */
export function technologyProblem(
  program: 'srsenb' | 'gnb',
  { technology }: Pick<RadioProfile, 'technology'>,
): RenderProblem | undefined {
  const needed = program === 'srsenb' ? 'lte' : 'nr'
  if (technology === needed) return undefined
  return { key: 'ran.program', message: `${program} emits ${needed}, and the profile is ${technology}` }
}

/**
 * The carrier of a profile, or every reason why the programs cannot emit it. The wanted spacing is that of the carrier where
 * band and width leave the choice.
 */
export function cellPlan(
  profile: RadioProfile,
  wantedScsKhz: SpacingKhz,
): CellPlan | readonly RenderProblem[] {
  return profile.technology === 'lte' ? ltePlan(profile) : nrPlan(profile, wantedScsKhz)
}

function ltePlan(profile: RadioProfile): CellPlan | readonly RenderProblem[] {
  const place = lteChannel(profile.channel)
  const resourceBlocks = RESOURCE_BLOCKS.get(profile.bandwidth_mhz)
  const problems: RenderProblem[] = []
  if (resourceBlocks === undefined) {
    const all = [...RESOURCE_BLOCKS.keys()].join(', ')
    problems.push({
      key: 'bandwidth_mhz',
      message: `bandwidth_mhz is ${profile.bandwidth_mhz}; an LTE carrier has one of ${all}`,
    })
  }
  if (place?.direction !== 'DL' || place.uplinkMhz === undefined || place.downlinkMhz === undefined) {
    problems.push({
      key: 'channel',
      message: `channel ${profile.channel} is no downlink EARFCN of an FDD band with an uplink, which srsenb needs`,
    })
    return problems
  }
  if (Number(place.band.slice(1)) > SRSENB_BAND_MAX)
    problems.push({
      key: 'channel',
      message:
        `channel ${profile.channel} lies in ${place.band}; srsenb can announce bands up to b${SRSENB_BAND_MAX}, so no phone ` +
        'would see the cell: choose a channel of another band',
    })
  if (MISPLACED_IN_SRSENB.has(place.band))
    problems.push({
      key: 'channel',
      message: `channel ${profile.channel} lies in ${place.band}, where srsenb sends on other frequencies than the channel has`,
    })
  if (profile.band !== undefined && profile.band !== place.band) {
    problems.push({
      key: 'band',
      message: `channel ${profile.channel} lies in ${place.band}, not in ${profile.band}`,
    })
  }
  if (problems.length > 0) return problems
  return {
    technology: 'lte',
    channel: profile.channel,
    bandwidthMhz: profile.bandwidth_mhz,
    resourceBlocks,
    downlinkMhz: place.downlinkMhz,
    uplinkMhz: place.uplinkMhz,
    nrBand: undefined,
    scsKhz: undefined,
  }
}

function nrPlan(profile: RadioProfile, wantedScsKhz: SpacingKhz): CellPlan | readonly RenderProblem[] {
  const problems: RenderProblem[] = []
  if (!NR_BANDWIDTHS.includes(profile.bandwidth_mhz)) {
    problems.push({
      key: 'bandwidth_mhz',
      message: `bandwidth_mhz is ${profile.bandwidth_mhz}; gnb takes one of ${NR_BANDWIDTHS.join(', ')}`,
    })
  }
  const downlinks = (nrChannel(profile.channel)?.bands ?? []).filter(
    ({ direction, raster, downlinkMhz }) =>
      direction !== 'UL' && raster !== 'off' && downlinkMhz !== undefined,
  )
  // Without a band gnb would choose one of several itself; the gate has judged only the one that the profile means.
  const place =
    profile.band === undefined && downlinks.length === 1
      ? downlinks[0]
      : downlinks.find(({ band }) => band === profile.band)
  if (place?.downlinkMhz === undefined) {
    const names = downlinks.map(({ band }) => band).join(', ') || 'none'
    problems.push({
      key: profile.band === undefined ? 'channel' : 'band',
      message: `channel ${profile.channel} needs a downlink band; bands that have it: ${names}; the profile names ${profile.band ?? 'none'}`,
    })
    return problems
  }
  const spacing = spacingOf(place.band, profile.channel, profile.bandwidth_mhz, wantedScsKhz)
  if ('problem' in spacing) {
    problems.push({ key: 'channel', message: `gnb cannot emit this carrier: ${spacing.problem}` })
    return problems
  }
  if (problems.length > 0) return problems
  return {
    technology: 'nr',
    channel: profile.channel,
    bandwidthMhz: profile.bandwidth_mhz,
    resourceBlocks: undefined,
    downlinkMhz: place.downlinkMhz,
    uplinkMhz: place.uplinkMhz,
    nrBand: Number(place.band.slice(1)),
    scsKhz: spacing.scsKhz,
  }
}
