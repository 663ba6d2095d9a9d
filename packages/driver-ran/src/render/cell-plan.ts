import type { RadioProfile } from '@steeple/contracts'
import { type CarrierProblemCode, carriersOf, lteChannel, nrChannel } from '@steeple/telecom'

/** Sub-carrier spacings of carriers in frequency range 1 that gnb emits, kHz. */
const SPACINGS = [15, 30] as const
type SpacingKhz = (typeof SPACINGS)[number]

/** TS 38.104 table 5.4.3.3-1: bands whose synchronisation signal has one spacing alone. The others have both. */
const SYNC_AT: Readonly<Record<SpacingKhz, ReadonlySet<string>>> = {
  15: new Set(
    'n1 n2 n3 n7 n8 n12 n13 n14 n18 n20 n25 n26 n28 n29 n30 n51 n53 n65 n67 n70 n71 n74 n75 n76 n85 n91 n92 n93 n94 n100'.split(
      ' ',
    ),
  ),
  30: new Set('n40 n46 n48 n50 n77 n78 n79 n96 n102 n104'.split(' ')),
}

/**
 * TS 38.104 table 5.4.2.3-1, §5.4.2.1: in bands with a raster for each spacing a carrier of 30 kHz lies on that of 30 kHz:
 * its channel number is a multiple of this.
 */
const STEP_AT_30: ReadonlyMap<string, number> = new Map([
  ['n41', 6],
  ['n48', 2],
  ['n77', 2],
  ['n78', 2],
  ['n79', 2],
  ['n90', 6],
  ['n104', 2],
])

/** Bands that gnb does not know (it takes n105 for one of frequency range 2), and those whose uplink it would put outside. */
const NOT_IN_GNB: ReadonlySet<string> = new Set('n31 n54 n68 n72 n87 n88 n92 n94 n105'.split(' '))
/** TS 38.104 table 5.2-1: supplementary downlinks; no phone can answer there. */
const DOWNLINK_ONLY: ReadonlySet<string> = new Set('n29 n67 n75 n76'.split(' '))
/** gnb gives the uplink the width of the downlink, at a fixed distance: with these phones would send outside of the band. */
const NO_CELL: ReadonlySet<CarrierProblemCode> = new Set(['no_uplink', 'bandwidth_downlink_only'])
/** Up to so many MHz the control channel of the uplink takes half of a carrier at 30 kHz or more: gnb refuses. */
const TOO_NARROW_AT_30_MHZ = 10

/** How a carrier can be emitted: its spacing, or why there is none. */
type NrSpacing = { readonly scsKhz: SpacingKhz } | { readonly problem: string }

/**
 * The spacing of a carrier: the wanted one where band, width and channel number leave the choice, else the only one.
 *
 * gnb gives the synchronisation signal the spacing of the carrier.
 */
function spacingOf(band: string, channel: number, bandwidthMhz: number, wantedKhz: SpacingKhz): NrSpacing {
  const missing = missingIn(band)
  if (missing !== undefined) return { problem: missing }
  const problems: string[] = []
  const possible = SPACINGS.filter((scsKhz) => {
    if (SYNC_AT[scsKhz === 15 ? 30 : 15].has(band)) return false
    if (scsKhz === 30 && bandwidthMhz <= TOO_NARROW_AT_30_MHZ) {
      problems.push(`${bandwidthMhz} MHz of ${band} are too narrow (at 30 kHz)`)
      return false
    }
    const reasons = offRaster(band, channel, bandwidthMhz, scsKhz)
    problems.push(...reasons.map((reason) => `${reason} (at ${scsKhz} kHz)`))
    return reasons.length === 0
  })
  const [only] = possible
  if (only === undefined) return { problem: problems.join('; ') }
  return { scsKhz: possible.includes(wantedKhz) ? wantedKhz : only }
}

/** Why there is no cell in that band at all; undefined when there is. */
function missingIn(band: string): string | undefined {
  if (DOWNLINK_ONLY.has(band)) return `${band} has no uplink`
  return NOT_IN_GNB.has(band) ? `gnb has no cells in ${band}` : undefined
}

/** Why the carrier cannot lie there with that spacing; empty when it can. */
function offRaster(
  band: string,
  channel: number,
  bandwidthMhz: number,
  scsKhz: SpacingKhz,
): readonly string[] {
  const step = scsKhz === 30 ? (STEP_AT_30.get(band) ?? 1) : 1
  if (channel % step !== 0) return [`channel ${channel} of ${band} is no multiple of ${step}`]
  const [carrier] = carriersOf('nr', channel, { band, bandwidthMhz, scsKhz })
  return (carrier?.problems ?? [])
    .filter(({ severity, code }) => severity === 'refuse' || NO_CELL.has(code))
    .map(({ message }) => message)
}

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

/** Channel bandwidth of an LTE carrier in MHz; undefined for a number of resource blocks that no carrier has. */
export function bandwidthOf(blocks: number): number | undefined {
  for (const [mhz, count] of RESOURCE_BLOCKS) if (count === blocks) return mhz
  return undefined
}

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
