import { hostText, type Section } from '@steeple/southbound'
import type { CorePlan } from './core-plan.ts'
import { homeKeyPath } from './core-plan.ts'
import { networkName, plmnId, serverAt } from './epc-files.ts'
import { type Daemon, SBI_PORT } from './roles.ts'

/** Ciphering before no ciphering; integrity always. */
const NR_SECURITY = { integrity_order: ['NIA2', 'NIA1'], ciphering_order: ['NEA2', 'NEA1', 'NEA0'] }
/** Periodic registration update, s: the stock value. Mandatory. */
const T3512_S = 540

/** The service bus of a function: its own server, and the SCP that carries its requests. */
export function sbiSection(plan: CorePlan, daemon: Daemon): Section {
  return {
    server: [{ address: plan.at(daemon), port: SBI_PORT }],
    client: { scp: [{ uri: sbiUri(plan, 'scp') }] },
  }
}

function sbiUri({ at }: CorePlan, daemon: Daemon): string {
  return `http://${hostText(at(daemon))}:${SBI_PORT}`
}

/** `nrf` of nrf.yaml. */
export function nrfSection(plan: CorePlan): Section {
  return {
    serving: [{ plmn_id: plmnId(plan) }],
    sbi: { server: [{ address: plan.at('nrf'), port: SBI_PORT }] },
  }
}

/** `scp` of scp.yaml: the one that knows the NRF. */
export function scpSection(plan: CorePlan): Section {
  return {
    sbi: {
      server: [{ address: plan.at('scp'), port: SBI_PORT }],
      client: { nrf: [{ uri: sbiUri(plan, 'nrf') }] },
    },
  }
}

/** `amf` of amf.yaml. */
export function amfSection(plan: CorePlan): Section {
  const plmn = plmnId(plan)
  return {
    sbi: sbiSection(plan, 'amf'),
    ngap: { server: serverAt(plan.at('amf')) },
    metrics: { server: [{ ...plan.metrics('amf') }] },
    guami: [{ plmn_id: plmn, amf_id: { region: 2, set: 1 } }],
    tai: [{ plmn_id: plmn, tac: String(plan.desired.tac) }],
    plmn_support: [{ plmn_id: plmn, s_nssai: slices(plan) }],
    security: NR_SECURITY,
    network_name: networkName(plan),
    amf_name: 'steeple-amf',
    time: { t3512: { value: T3512_S } },
  }
}

/** `nssf` of nssf.yaml: every slice is this network's own NRF's. */
export function nssfSection(plan: CorePlan): Section {
  const uri = sbiUri(plan, 'nrf')
  const sbi = sbiSection(plan, 'nssf')
  const nsi = slices(plan).map((s_nssai) => ({ uri, s_nssai }))
  return { sbi: { ...sbi, client: { scp: [{ uri: sbiUri(plan, 'scp') }], nsi } } }
}

/** `pcf` of pcf.yaml: it has metrics besides. */
export function pcfSection(plan: CorePlan): Section {
  return { sbi: sbiSection(plan, 'pcf'), metrics: { server: [{ ...plan.metrics('pcf') }] } }
}

/** `udm` of udm.yaml: with the keys that phones conceal who they are with. */
export function udmSection(plan: CorePlan): Section {
  const { homeKeys, configMount } = plan.settings
  const hnet = homeKeys.map(({ id, scheme }) => ({ id, scheme, key: `${configMount}/${homeKeyPath(id)}` }))
  return { sbi: sbiSection(plan, 'udm'), ...(hnet.length === 0 ? {} : { hnet }) }
}

/** A function that has nothing but its service bus: ausf, udr, bsf. */
export function plainSection(plan: CorePlan, daemon: Daemon): Section {
  return { sbi: sbiSection(plan, daemon) }
}

function slices({ settings }: CorePlan): readonly Section[] {
  return settings.slices.map(({ sst, sd }) => (sd === undefined ? { sst } : { sst, sd: sd.toLowerCase() }))
}
