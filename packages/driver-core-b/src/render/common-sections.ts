import type { Section, YamlValue } from '@steeple/southbound'
import type { CorePlan } from './core-plan.ts'
import { type NetworkFunction, SBI_PORT } from './functions.ts'

/** `info.version` that a function compares for equality; the same from 3.4 to 4.2. */
const INFO_VERSION: Readonly<Record<Exclude<NetworkFunction, 'upf'>, string>> = {
  nrf: '1.0.2',
  udr: '1.1.0',
  udm: '1.0.3',
  ausf: '1.0.3',
  nssf: '1.0.2',
  pcf: '1.0.2',
  chf: '1.0.3',
  smf: '1.0.7',
  amf: '1.0.9',
}

/** How much a function logs. */
export const LOGGER: Section = { enable: true, level: 'info', reportCaller: false }

/** The file of a function with a service-based interface. */
export function functionFile(nf: Exclude<NetworkFunction, 'upf'>, configuration: Section): Section {
  return { info: { version: INFO_VERSION[nf] }, configuration, logger: LOGGER }
}

/**
 * Where a function listens for the others, and how it finds the NRF.
 *
 * No `nfInstanceId`: a function that comes back under its old id after a crash is answered as an update, in which it does
 * not look for the NRF's word on tokens, and then lets everybody in.
 */
export function sbiSections(plan: CorePlan, nf: NetworkFunction): Section {
  return {
    sbi: sbiOf(plan, nf, { tls: certificateOf(nf) }),
    nrfUri: `http://${plan.places.of('nrf')}:${SBI_PORT}`,
    nrfCertPem: 'cert/nrf.pem',
  }
}

/** Where a function listens for the others. */
export function sbiOf(plan: CorePlan, nf: NetworkFunction, more: Section): Section {
  const address = plan.places.of(nf)
  return { scheme: 'http', registerIPv4: address, bindingIPv4: address, port: SBI_PORT, ...more }
}

/** Certificate files, relative to where the function runs; some are read although the interface has no TLS. */
export function certificateOf(name: string): Section {
  return { pem: `cert/${name}.pem`, key: `cert/${name}.key` }
}

/** The PLMN, its digits as texts. */
export function plmnOf({ desired: { plmn } }: CorePlan): Section {
  return { mcc: plmn.mcc, mnc: plmn.mnc }
}

/** The tracking area code as free5GC spells it: six hexadecimal digits, TS 29.571 §5.4.2. */
export function tacOf({ desired }: CorePlan): string {
  return desired.tac.toString(16).padStart(6, '0')
}

/** The tracking area. */
export function taiOf(plan: CorePlan): Section {
  return { plmnId: plmnOf(plan), tac: tacOf(plan) }
}

/** An S-NSSAI. */
export function snssaiOf({ sst, sd }: { readonly sst: number; readonly sd?: string | undefined }): Section {
  return sd === undefined ? { sst } : { sst, sd }
}

/** Every slice. */
export function slicesOf({ settings }: CorePlan): readonly YamlValue[] {
  return settings.slices.map(snssaiOf)
}

/** The document store as UDR, PCF and CHF spell it. */
export function mongoOf({ database }: CorePlan): Section {
  return { name: database.name, url: database.url }
}
