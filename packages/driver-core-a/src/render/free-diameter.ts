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
