import { type CarrierProblemCode, carriersOf } from '@steeple/telecom'

/** Sub-carrier spacings of carriers in frequency range 1 that gnb emits, kHz. */
const SPACINGS = [15, 30] as const
/** One of them. */
export type SpacingKhz = (typeof SPACINGS)[number]

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
export type NrSpacing = { readonly scsKhz: SpacingKhz } | { readonly problem: string }

/**
 * The spacing of a carrier: the wanted one where band, width and channel number leave the choice, else the only one.
 *
 * gnb gives the synchronisation signal the spacing of the carrier.
 */
export function spacingOf(
  band: string,
  channel: number,
  bandwidthMhz: number,
  wantedKhz: SpacingKhz,
): NrSpacing {
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
