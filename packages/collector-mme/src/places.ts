import type { Settings } from '@steeple/contracts'
import type { Generation, InfoPlaces } from '@steeple/open5gs-info'

/** Where the lists of a core are that has no driver of its own here. */
export interface ConfiguredPlaces extends InfoPlaces {
  readonly hasSmf: boolean
}

/** The places as the configuration names them. */
export function infoPlaces({ collector, plmn }: Settings): ConfiguredPlaces {
  const urls = { mme: collector.mme_url, amf: collector.amf_url, smf: collector.smf_url }
  const generations: readonly Generation[] = [
    ...(urls.mme === '' ? [] : (['epc'] as const)),
    ...(urls.amf === '' ? [] : (['5gc'] as const)),
  ]
  return {
    generations,
    plmn: `${plmn.mcc}${plmn.mnc}`,
    urlOf: (daemon) => urls[daemon].replace(/\/+$/, ''),
    hasSmf: urls.smf !== '',
  }
}
