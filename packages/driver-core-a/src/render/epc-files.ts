import type { Section } from '@steeple/southbound'
import type { CorePlan } from './core-plan.ts'
import type { Daemon } from './roles.ts'

/** Dictionaries that the daemons' applications (S6a, Gx, Gy, Rx) are made of. Found in freeDiameter's own directory. */
const DICTIONARIES = [
  'dict_rfc5777.fdx',
  'dict_mip6i.fdx',
  'dict_nasreq.fdx',
  'dict_nas_mipv6.fdx',
  'dict_dcca.fdx',
  'dict_dcca_3gpp.fdx',
] as const

const REALM = 'localdomain'

/** Who talks Diameter with whom: S6a between MME and HSS, Gx between SMF and PCRF. Each connects out. */
const PEERS: Readonly<Partial<Record<Daemon, Daemon>>> = { mme: 'hss', hss: 'mme', smf: 'pcrf', pcrf: 'smf' }

/** Whether a daemon speaks Diameter in this plan. */
export function speaksDiameter(daemon: Daemon, plan: CorePlan): boolean {
  return PEERS[daemon] !== undefined && plan.generations.includes('epc')
}

/** Path of a daemon's freeDiameter file in the rendered set. */
export function diameterPath(daemon: Daemon): string {
  return `freeDiameter/${daemon}.conf`
}

/** The value of `<daemon>.freeDiameter`: that file as the daemon sees it. */
export function diameterMount(daemon: Daemon, plan: CorePlan): string {
  return `${plan.settings.configMount.replace(/\/+$/, '')}/${diameterPath(daemon)}`
}

/**
 * The freeDiameter file of a daemon.
 *
 * `SecPort = 0` without a certificate turns TLS off as a whole, so that no certificate need lie anywhere: peers talk in
 * the clear over the core's own network. TCP alone, since a kernel without SCTP keeps the daemon from starting. The stock
 * file's message dump, which writes IMSIs into the log, is left out.
 */
export function diameterFile(daemon: Daemon, plan: CorePlan): string {
  const peer = PEERS[daemon] ?? daemon
  return [
    '# Written by Steeple. Changes made here are lost with the next one.',
    `Identity = "${daemon}.${REALM}";`,
    `Realm = "${REALM}";`,
    'Port = 3868;',
    'SecPort = 0;',
    `ListenOn = "${plan.at(daemon)}";`,
    'No_SCTP;',
    'NoRelay;',
    ...DICTIONARIES.map((name) => `LoadExtension = "${name}";`),
    `ConnectPeer = "${peer}.${REALM}" { ConnectTo = "${plan.at(peer)}"; No_TLS; };`,
    '',
  ].join('\n')
}

/** The network code as the core reads it: the number of its digits decides between two and three. */
export function plmnId({ desired: { plmn } }: CorePlan): Section {
  return { mcc: plmn.mcc, mnc: plmn.mnc }
}

/** What phones show, where there is room and where there is not. */
export function networkName({ settings: { networkName: name } }: CorePlan): Section {
  return { full: name, short: name }
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
    network_name: networkName(plan),
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
