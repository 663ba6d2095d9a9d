import type { Technology } from '@steeple/contracts'
import type { Carrier } from './carrier.ts'
import { LTE_BANDS } from './data/lte-bands.ts'
import { lteCarrier } from './lte-carrier.ts'
import { earfcnFromKhz } from './lte-channel.ts'
import type { NrCarrierOptions } from './nr-carrier.ts'
import { nrCarriers } from './nr-carrier.ts'
import { nearestNrArfcn } from './nr-raster.ts'

/** What narrows `carriersOf`; sub-carrier spacing and raster say nothing in LTE. */
export interface CarriersOptions extends NrCarrierOptions {
  /** Only this band, `b3` or `n78`. */
  readonly band?: string | undefined
}

/**
 * Every carrier that a channel number can mean: one band in LTE, up to a dozen in NR, in table order.
 *
 * - Empty when no band (or not the asked band) has the number in its range.
 * - Each carrier brings its problems; `isUsableCarrier` tells whether one of them refuses it. A number that lies
 *   in a band's range but on none of its channels is returned, with `off_raster`.
 *
 * Source: TS 36.101 §5.7, TS 38.104 §5.4.
 */
export function carriersOf(
  technology: Technology,
  channel: number,
  options: CarriersOptions = {},
): readonly Carrier[] {
  const carriers =
    technology === 'lte' ? lteCarriers(channel, options.bandwidthMhz) : nrCarriers(channel, options)
  return options.band === undefined ? carriers : carriers.filter((carrier) => carrier.band === options.band)
}

/**
 * The downlink channel nearest to a frequency in kHz, in each band that has one there, in table order.
 *
 * Source: TS 36.101 §5.7.3, TS 38.104 §5.4.2.
 */
export function channelsAtKhz(
  technology: Technology,
  khz: number,
): readonly { readonly band: string; readonly channel: number }[] {
  if (technology === 'lte') {
    // Edges of LTE bands are whole 100 kHz, and so are its channels.
    const nearest = Math.round(khz / 100) * 100
    return LTE_BANDS.flatMap(([number]) => {
      const channel = earfcnFromKhz(`b${number}`, 'DL', nearest)
      return channel === undefined ? [] : [{ band: `b${number}`, channel }]
    })
  }
  const channel = nearestNrArfcn(khz)
  if (channel === undefined) return []
  return nrCarriers(channel, {})
    .filter(({ direction }) => direction !== 'UL')
    .map(({ band }) => ({ band, channel }))
}

function lteCarriers(channel: number, bandwidthMhz: number | undefined): readonly Carrier[] {
  const carrier = lteCarrier(channel, bandwidthMhz)
  return carrier === undefined ? [] : [carrier]
}
