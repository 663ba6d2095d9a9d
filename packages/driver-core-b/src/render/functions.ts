/** The network functions of free5GC that are rendered, in the order in which they are restarted. */
export const FUNCTIONS = ['nrf', 'udr', 'udm', 'ausf', 'nssf', 'pcf', 'chf', 'upf', 'smf', 'amf'] as const

export type NetworkFunction = (typeof FUNCTIONS)[number]

/** Port of the service-based interface: HTTP without TLS. */
export const SBI_PORT = 8000
/** Port of the metrics server of a function that has one. */
export const METRICS_PORT = 9091

/** Addresses of the sample configuration. The UPF has no service-based interface: its address is that of N4. */
const STOCK_ADDRESS: Readonly<Record<NetworkFunction, string>> = {
  nrf: '127.0.0.10',
  udr: '127.0.0.4',
  udm: '127.0.0.3',
  ausf: '127.0.0.9',
  nssf: '127.0.0.31',
  pcf: '127.0.0.7',
  chf: '127.0.0.113',
  upf: '127.0.0.8',
  smf: '127.0.0.2',
  amf: '127.0.0.18',
}

/**
 * Roles in `core_b.addresses` that are no function: where the AMF listens for gNBs, where the SMF speaks PFCP, the UPF's
 * side toward gNBs, the resolver that phones are told, and the host of the database as the core reaches it.
 */
export const EXTRA_ROLES = ['n2', 'n4', 'n3', 'dns', 'mongo'] as const

/** The resolver that phones are told unless another is configured. */
const STOCK_DNS = '8.8.8.8'

/** Addresses by role, every role filled in but `mongo`. */
export interface FunctionAddresses {
  readonly of: (nf: NetworkFunction) => string
  readonly n2: string
  readonly n3: string
  readonly n4: string
  readonly dns: string
}

/** Where everything listens: as configured, else as in the sample configuration. */
export function functionAddresses(addresses: Readonly<Record<string, string>>): FunctionAddresses {
  const of = (nf: NetworkFunction): string => addresses[nf] ?? STOCK_ADDRESS[nf]
  return {
    of,
    n2: addresses.n2 ?? of('amf'),
    n3: addresses.n3 ?? of('upf'),
    n4: addresses.n4 ?? of('smf'),
    dns: addresses.dns ?? STOCK_DNS,
  }
}

/** Whether a role names a network function. */
export function isNetworkFunction(role: string): role is NetworkFunction {
  return FUNCTIONS.some((nf) => nf === role)
}

/** The functions that are rendered; without charging there is no CHF. */
export function functionsOf(hasCharging: boolean): readonly NetworkFunction[] {
  return FUNCTIONS.filter((nf) => hasCharging || nf !== 'chf')
}

/** The function that reads a rendered file; undefined for a file that is none of them. */
export function functionOfFile(path: string): NetworkFunction | undefined {
  if (path === 'uerouting.yaml') return 'smf'
  return FUNCTIONS.find((nf) => path === `${nf}cfg.yaml`)
}
