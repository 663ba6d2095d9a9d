import { isIPv4 } from 'node:net'
import { at, distinct, type FoundNetwork, listAt, type Part, plmnAt, slicesOf, textAt } from './network.ts'

/** What the files of free5GC say, by function. */
export function readFree5gc(files: ReadonlyMap<string, Part>): FoundNetwork {
  const conf = (role: string): Part => at(files.get(role), 'configuration')
  const [amf, smf, upf] = [conf('amf'), conf('smf'), files.get('upf')]
  const nodes = Object.entries(
    (at(smf, 'userplaneInformation', 'upNodes') ?? {}) as Readonly<Record<string, Part>>,
  )
  const upfs = nodes.filter(([, node]) => textAt(node, 'type') === 'UPF')
  const pools = upfs.flatMap(([, node]) =>
    listAt(node, 'sNssaiUpfInfos').flatMap((info) =>
      listAt(info, 'dnnUpfInfoList').flatMap((dnn) =>
        listAt(dnn, 'pools').flatMap((pool) => {
          const subnet = textAt(pool, 'cidr')
          return subnet === undefined ? [] : [{ apn: textAt(dnn, 'dnn'), subnet }]
        }),
      ),
    ),
  )
  const plmns = distinct(
    listAt(amf, 'plmnSupportList').map((one) => JSON.stringify(plmnAt(at(one, 'plmnId')))),
  )
  const plmn = plmnAt(at(listAt(amf, 'servedGuamiList')[0], 'plmnId'))
  // TS 29.571 §5.4.2: hexadecimal.
  const tacs = distinct(listAt(amf, 'supportTaiList').map((one) => textAt(one, 'tac'))).map((tac) =>
    String(Number.parseInt(tac, 16)),
  )
  const slices = slicesOf(listAt(amf, 'plmnSupportList').flatMap((one) => listAt(one, 'snssaiList')))
  const dns = distinct(
    listAt(smf, 'snssaiInfos').flatMap((info) =>
      listAt(info, 'dnnInfos').map((one) => textAt(one, 'dns', 'ipv4')),
    ),
  )
  const addresses = addressesOf(files, { amf, smf, upf, conf, node: upfs[0]?.[1] })
  return {
    plmn,
    tacs,
    pools,
    apns: distinct([...listAt(amf, 'supportDnnList').map(String), ...pools.map(({ apn }) => apn)]),
    slices,
    dns,
    addresses,
    settings: {
      core: 'core_b',
      ...networkSettings({ plmn, tacs, slices, dns, addresses }, amf, pools),
      ...(files.has('chf') || files.size === 0 ? {} : { 'core_b.charging': false }),
      ...(files.has('nrf') ? { 'core_b.oauth': textAt(conf('nrf'), 'sbi', 'oauth') === 'true' } : {}),
    },
    notes: notesOf({ plmns: plmns.length, upfs: upfs.length, tacs, pools }),
  }
}

interface Read {
  readonly amf: Part
  readonly smf: Part
  readonly upf: Part
  readonly node: Part
  readonly conf: (role: string) => Part
}

function addressesOf(
  files: ReadonlyMap<string, Part>,
  { amf, smf, upf, node, conf }: Read,
): Readonly<Record<string, string>> {
  const bound = [...files.keys()].map((role) => [role, textAt(conf(role), 'sbi', 'registerIPv4')] as const)
  const n3 = listAt(node, 'interfaces').find((one) => textAt(one, 'interfaceType') === 'N3')
  const all = [
    ...bound,
    ['upf', textAt(upf, 'pfcp', 'addr') ?? textAt(node, 'addr')] as const,
    ['n2', firstText(listAt(amf, 'ngapIpList'))] as const,
    ['n4', textAt(smf, 'pfcp', 'listenAddr')] as const,
    ['n3', firstText(listAt(n3, 'endpoints')) ?? textAt(listAt(upf, 'gtpu', 'ifList')[0], 'addr')] as const,
  ]
  return Object.fromEntries(
    all.flatMap(([role, address]) => (address === undefined ? [] : [[role, address]])),
  )
}

function firstText([first]: readonly Part[]): string | undefined {
  return typeof first === 'string' ? first : undefined
}

function networkSettings(
  { plmn, tacs, slices, dns, addresses }: Omit<FoundNetwork, 'settings' | 'notes' | 'pools' | 'apns'>,
  amf: Part,
  pools: FoundNetwork['pools'],
): object {
  const tac = Number(tacs[0] ?? Number.NaN)
  const subnet = coverOf(pools.map((pool) => pool.subnet))
  const resolver = dns[0] === undefined ? {} : { dns: dns[0] }
  return {
    ...(plmn === undefined ? {} : { 'plmn.mcc': plmn.mcc, 'plmn.mnc': plmn.mnc }),
    ...(Number.isInteger(tac) ? { tac } : {}),
    ...(subnet === undefined ? {} : { 'core_b.subnet': subnet }),
    ...(slices.length === 0 ? {} : { 'core_b.slices': slices }),
    'core_b.addresses': { ...addresses, ...resolver },
    ...(addresses.amf === undefined
      ? {}
      : { 'core_b.amf_oam_url': `http://${addresses.amf}:${portOf(amf)}` }),
  }
}

function portOf(amf: Part): string {
  return textAt(amf, 'sbi', 'port') ?? '8000'
}

/** The smallest range of addresses in which all of these are. */
function coverOf(ranges: readonly string[]): string | undefined {
  const parsed = ranges.flatMap((range) => {
    const [address = '', digits = ''] = range.split('/')
    const prefix = Number(digits)
    if (!isIPv4(address) || digits === '' || !(prefix >= 0 && prefix <= 32)) return []
    const first = address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0)
    return [{ first, last: first + 2 ** (32 - prefix) - 1 }]
  })
  if (parsed.length === 0) return undefined
  const [low, high] = [
    Math.min(...parsed.map(({ first }) => first)),
    Math.max(...parsed.map(({ last }) => last)),
  ]
  const prefix = Array.from({ length: 33 }, (_, at) => 32 - at).find((bits) => {
    const size = 2 ** (32 - bits)
    return Math.floor(low / size) === Math.floor(high / size)
  })
  const size = 2 ** (32 - (prefix ?? 0))
  const first = Math.floor(low / size) * size
  return `${[2 ** 24, 2 ** 16, 2 ** 8, 1].map((unit) => Math.floor(first / unit) % 256).join('.')}/${prefix ?? 0}`
}

function notesOf({
  plmns,
  upfs,
  tacs,
  pools,
}: { readonly plmns: number; readonly upfs: number } & Pick<
  FoundNetwork,
  'tacs' | 'pools'
>): readonly string[] {
  const notes: string[] = []
  if (plmns > 1)
    notes.push(
      `there are ${plmns} networks (PLMN); the service has a key for the first, the others stay in the files`,
    )
  if (tacs.length > 1)
    notes.push(
      `there are several tracking areas (${tacs.join(', ')}); the service has a key for the first, the others stay in the files`,
    )
  if (upfs > 1)
    notes.push(`there are ${upfs} UPFs; the service has keys for the first, the others stay in the files`)
  if (pools.length > 1)
    notes.push('each pool stays in the files as it is until core_b.subnet, the slices or the APNs change')
  return notes
}
