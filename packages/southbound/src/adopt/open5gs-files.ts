import { isIPv4 } from 'node:net'
import { at, distinct, type FoundNetwork, listAt, type Part, plmnAt, slicesOf, textAt } from './network.ts'

/** Where a daemon's address stands in its section: the one that this service and the radio reach it at. */
const ADDRESS: Readonly<Record<string, string>> = {
  mme: 's1ap',
  sgwc: 'gtpc',
  sgwu: 'pfcp',
  smf: 'pfcp',
  upf: 'pfcp',
  hss: 'metrics',
  pcrf: 'metrics',
}
/** Daemons whose lists this service reads, at a port of their own. */
const LISTING = ['mme', 'smf', 'amf']
const METRICS_PORT = '9090'

/** What the files of Open5GS say, by role; the section of each daemon is named like it. */
export function readOpen5gs(files: ReadonlyMap<string, Part>): FoundNetwork {
  const section = (role: string): Part => at(files.get(role), role)
  const [mme, amf, smf] = [section('mme'), section('amf'), section('smf')]
  const plmns = distinct(
    [...listAt(mme, 'gummei'), ...listAt(amf, 'guami'), ...listAt(mme, 'tai'), ...listAt(amf, 'tai')].flatMap(
      (one) => listAt(one, 'plmn_id').map((id) => JSON.stringify(plmnAt(id))),
    ),
  )
  const plmn = plmnAt(at(listAt(listAt(mme, 'gummei')[0] ?? listAt(amf, 'guami')[0], 'plmn_id')[0]))
  const tacs = distinct(
    [...listAt(mme, 'tai'), ...listAt(amf, 'tai')].flatMap((one) => listAt(one, 'tac').map(String)),
  )
  const pools = listAt(smf, 'session').flatMap((one) => {
    const subnet = textAt(one, 'subnet')
    return subnet === undefined ? [] : [{ apn: textAt(one, 'dnn'), subnet }]
  })
  const slices = slicesOf(listAt(amf, 'plmn_support').flatMap((one) => listAt(one, 's_nssai')))
  const dns = listAt(smf, 'dns').map(String)
  const addresses = addressesOf(files, section)
  return {
    plmn,
    tacs,
    pools,
    apns: distinct(pools.map(({ apn }) => apn)),
    slices,
    dns,
    addresses,
    settings: {
      core: 'core_a',
      ...networkSettings({ plmn, tacs, pools, slices }),
      ...nameSetting(mme, amf),
      'core_a.addresses': { ...addresses, ...toldAddresses(section, addresses), ...resolvers(dns) },
      ...Object.fromEntries(LISTING.flatMap((role) => listUrl(role, section(role), addresses))),
    },
    notes: notesOf(files, section, { plmns: plmns.length, tacs, pools }),
  }
}

function addressesOf(
  files: ReadonlyMap<string, Part>,
  section: (role: string) => Part,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...files.keys()].flatMap((role) => {
      const address = serverOf(section(role), ADDRESS[role] ?? 'sbi')
      return address !== undefined && isIPv4(address) ? [[role, address]] : []
    }),
  )
}

/** The first address at which an interface listens: one, or the first of several. */
function serverOf(part: Part, name: string): string | undefined {
  const [server] = listAt(part, name, 'server')
  const [address] = listAt(server, 'address')
  return typeof address === 'string' ? address : undefined
}

function networkSettings({
  plmn,
  tacs,
  pools,
  slices,
}: Pick<FoundNetwork, 'plmn' | 'tacs' | 'pools' | 'slices'>): object {
  const tac = Number(tacs[0] ?? Number.NaN)
  const subnet = pools.find((pool) => !pool.subnet.includes(':'))?.subnet ?? pools[0]?.subnet
  return {
    ...(plmn === undefined ? {} : { 'plmn.mcc': plmn.mcc, 'plmn.mnc': plmn.mnc }),
    ...(Number.isInteger(tac) ? { tac } : {}),
    ...(subnet === undefined ? {} : { 'core_a.subnet': subnet }),
    ...(slices.length === 0 ? {} : { 'core_a.slices': slices }),
  }
}

/** What base stations are told instead of where SGW-U and UPF speak PFCP. */
function toldAddresses(section: (role: string) => Part, addresses: Readonly<Record<string, string>>): object {
  const told = (role: string): string | undefined => {
    const [server] = listAt(section(role), 'gtpu', 'server')
    const address = textAt(server, 'advertise') ?? serverOf(section(role), 'gtpu')
    return address !== undefined && isIPv4(address) && address !== addresses[role] ? address : undefined
  }
  const [s1u, n3] = [told('sgwu'), told('upf')]
  return { ...(s1u === undefined ? {} : { s1u }), ...(n3 === undefined ? {} : { n3 }) }
}

const NAME = /^[ -~]{1,32}$/

/** What phones show: one key for both names of MME and AMF. Where they are not the same they stay in the files. */
function nameSetting(mme: Part, amf: Part): object {
  const parts = [mme, amf].filter((part) => part !== undefined)
  const [name, ...others] = distinct(
    parts.flatMap((part) => {
      const full = textAt(part, 'network_name', 'full') ?? ''
      return [full, textAt(part, 'network_name', 'short') ?? full]
    }),
  )
  return name !== undefined && others.length === 0 && NAME.test(name) ? { 'core_a.network_name': name } : {}
}

function resolvers(all: readonly string[]): object {
  const [dns, dns2] = all.filter(isIPv4)
  return { ...(dns === undefined ? {} : { dns }), ...(dns2 === undefined ? {} : { dns2 }) }
}

/** Where the lists of a daemon are, if not at the usual port of its address. The MME's is always told: there is a stock one. */
function listUrl(
  role: string,
  part: Part,
  addresses: Readonly<Record<string, string>>,
): readonly (readonly [string, string])[] {
  const address = serverOf(part, 'metrics') ?? addresses[role]
  const port = textAt(listAt(part, 'metrics', 'server')[0], 'port') ?? METRICS_PORT
  const isUsual = role !== 'mme' && address === addresses[role] && port === METRICS_PORT
  if (address === undefined || isUsual) return []
  return [[`core_a.${role}_url`, `http://${address.includes(':') ? `[${address}]` : address}:${port}`]]
}

function notesOf(
  files: ReadonlyMap<string, Part>,
  section: (role: string) => Part,
  { plmns, tacs, pools }: { readonly plmns: number } & Pick<FoundNetwork, 'tacs' | 'pools'>,
): readonly string[] {
  const notes: string[] = []
  if (plmns > 1)
    notes.push(
      `there are ${plmns} networks (PLMN); the service has a key for the first, the others stay in the files`,
    )
  if (tacs.length > 1)
    notes.push(
      `there are several tracking areas (${tacs.join(', ')}); the service has a key for the first, the others stay in the files`,
    )
  const subnets = distinct(pools.map(({ subnet }) => subnet))
  if (subnets.length > 1)
    notes.push(
      `there are several pools of addresses (${subnets.join(', ')}); they stay in the files until core_a.subnet or the APNs change`,
    )
  if (pools.length > 0 && pools.every(({ apn }) => apn === undefined))
    notes.push('the pools are for any APN; they stay so until core_a.subnet or the APNs change')
  for (const role of LISTING)
    if (files.has(role) && serverOf(section(role), 'metrics') === undefined)
      notes.push(`${role} has no metrics server with an address: the service cannot list its phones`)
  const hss = section('hss')
  if (hss !== undefined && textAt(hss, 'use_mongodb_change_stream') !== 'true')
    notes.push(
      'hss.use_mongodb_change_stream is off: a block does not disconnect a phone on LTE before that line is written',
    )
  return notes
}
