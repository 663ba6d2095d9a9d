import type { YamlValue } from '@steeple/southbound'
import type { CorePlan } from './core-plan.ts'
import { diameterMount } from './free-diameter.ts'

type Section = { readonly [key: string]: YamlValue }

/** The network code as the core reads it: the number of its digits decides between two and three. */
export function plmnId({ desired: { plmn } }: CorePlan): Section {
  return { mcc: plmn.mcc, mnc: plmn.mnc }
}

/** A list with one listening address. */
export function serverAt(address: string): readonly Section[] {
  return [{ address }]
}

/** Ciphering before no ciphering; integrity always. */
const LTE_SECURITY = { integrity_order: ['EIA2', 'EIA1'], ciphering_order: ['EEA2', 'EEA1', 'EEA0'] }
/** Periodic tracking area update, s: the stock value. */
const T3412_S = 540

/** `mme` of mme.yaml. */
export function mmeSection(plan: CorePlan): Section {
  const { at, metrics, desired } = plan
  return {
    freeDiameter: diameterMount('mme', plan),
    s1ap: { server: serverAt(at('mme')) },
    gtpc: {
      server: serverAt(at('mme')),
      client: { sgwc: serverAt(at('sgwc')), smf: serverAt(at('smf')) },
    },
    metrics: { server: [{ ...metrics('mme') }] },
    gummei: [{ plmn_id: plmnId(plan), mme_gid: 2, mme_code: 1 }],
    tai: [{ plmn_id: plmnId(plan), tac: String(desired.tac) }],
    security: LTE_SECURITY,
    network_name: { full: 'Steeple', short: 'Steeple' },
    mme_name: 'steeple-mme',
    time: { t3412: { value: T3412_S } },
  }
}

/** `sgwc` of sgwc.yaml. */
export function sgwcSection({ at }: CorePlan): Section {
  return {
    gtpc: { server: serverAt(at('sgwc')) },
    pfcp: { server: serverAt(at('sgwc')), client: { sgwu: serverAt(at('sgwu')) } },
  }
}

/** `sgwu` of sgwu.yaml. The eNB is told `core_a.addresses.s1u` where that is set, else the own address. */
export function sgwuSection({ at, desired }: CorePlan): Section {
  return {
    pfcp: { server: serverAt(at('sgwu')) },
    gtpu: { server: [userPlane(at('sgwu'), desired.addresses.s1u)] },
  }
}

/** A user-plane address, and what the base station is told instead of it. */
export function userPlane(address: string, advertised: string | undefined): Section {
  return advertised === undefined ? { address } : { address, advertise: advertised }
}

/**
 * `hss` of hss.yaml. With change streams it hears of a cancel request in the database, the only kick that 4G has; on a
 * database without a replica set it says so in its log and runs on.
 */
export function hssSection(plan: CorePlan): Section {
  return {
    freeDiameter: diameterMount('hss', plan),
    use_mongodb_change_stream: true,
    metrics: { server: [{ ...plan.metrics('hss') }] },
  }
}

/** `pcrf` of pcrf.yaml. */
export function pcrfSection(plan: CorePlan): Section {
  return {
    freeDiameter: diameterMount('pcrf', plan),
    metrics: { server: [{ ...plan.metrics('pcrf') }] },
  }
}
