import type { Technology } from '@steeple/contracts'
import type { Carrier } from './carrier.ts'
import { lteCarrier } from './lte-carrier.ts'
import type { NrCarrierOptions } from './nr-carrier.ts'
import { nrCarriers } from './nr-carrier.ts'

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

function lteCarriers(channel: number, bandwidthMhz: number | undefined): readonly Carrier[] {
  const carrier = lteCarrier(channel, bandwidthMhz)
  return carrier === undefined ? [] : [carrier]
}
