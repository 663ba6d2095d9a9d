import type { Settings } from '@steeple/contracts'
import { functionAddresses, type NetworkFunction, SBI_PORT } from './render/functions.ts'

/** Base URLs of the functions as this node reaches them, without a slash at the end. */
export interface CoreUrls {
  amf(): string
  smf(): string
  nrf(): string
  /** Of any function with a service-based interface. */
  of(nf: NetworkFunction): string
  /** Whether the configuration says where a function is; else it is taken to be where the sample has it. */
  isNamed(nf: NetworkFunction): boolean
}

/** Follows `core_b.amf_oam_url`, `smf_oam_url` and `nrf_url`, else the addresses by role: those that are in force. */
export function coreUrls(
  section: () => Pick<Settings['core_b'], 'amf_oam_url' | 'smf_oam_url' | 'nrf_url'>,
  addresses: () => Readonly<Record<string, string>>,
): CoreUrls {
  const configured = (nf: NetworkFunction): string => {
    const { amf_oam_url, smf_oam_url, nrf_url } = section()
    const url = nf === 'amf' ? amf_oam_url : nf === 'smf' ? smf_oam_url : nf === 'nrf' ? nrf_url : ''
    return url.replace(/\/+$/, '')
  }
  const of = (nf: NetworkFunction): string => {
    const url = configured(nf)
    return url === '' ? `http://${functionAddresses(addresses()).of(nf)}:${SBI_PORT}` : url
  }
  return {
    of,
    amf: () => of('amf'),
    smf: () => of('smf'),
    nrf: () => of('nrf'),
    isNamed: (nf) => configured(nf) !== '' || addresses()[nf] !== undefined,
  }
}
