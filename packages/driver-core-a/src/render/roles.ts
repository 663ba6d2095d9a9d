import type { Generation } from '@steeple/southbound'

/** The daemons of Open5GS that this driver renders, by the name that the configuration gives them. */
export const DAEMONS = [
  'upf',
  'sgwu',
  'smf',
  'sgwc',
  'hss',
  'pcrf',
  'mme',
  'nrf',
  'scp',
  'udr',
  'udm',
  'ausf',
  'pcf',
  'nssf',
  'bsf',
  'amf',
] as const

export type Daemon = (typeof DAEMONS)[number]

/** What a port speaks; two daemons on one address must not share one. */
type Service = 'gtpc' | 'gtpu' | 'pfcp' | 's1ap' | 'ngap' | 'diameter' | 'sbi' | 'metrics'

interface DaemonFacts {
  /** Address in the stock configuration. */
  readonly address: string
  readonly generations: readonly Generation[]
  readonly services: readonly Service[]
}

export type { Generation }

/** Stock addresses, and what each daemon listens on. */
export const FACTS: Readonly<Record<Daemon, DaemonFacts>> = {
  mme: { address: '127.0.0.2', generations: ['epc'], services: ['s1ap', 'gtpc', 'diameter', 'metrics'] },
  sgwc: { address: '127.0.0.3', generations: ['epc'], services: ['gtpc', 'pfcp'] },
  smf: {
    address: '127.0.0.4',
    generations: ['epc', '5gc'],
    services: ['sbi', 'pfcp', 'gtpc', 'gtpu', 'diameter', 'metrics'],
  },
  amf: { address: '127.0.0.5', generations: ['5gc'], services: ['sbi', 'ngap', 'metrics'] },
  sgwu: { address: '127.0.0.6', generations: ['epc'], services: ['pfcp', 'gtpu'] },
  upf: { address: '127.0.0.7', generations: ['epc', '5gc'], services: ['pfcp', 'gtpu', 'metrics'] },
  hss: { address: '127.0.0.8', generations: ['epc'], services: ['diameter', 'metrics'] },
  pcrf: { address: '127.0.0.9', generations: ['epc'], services: ['diameter', 'metrics'] },
  nrf: { address: '127.0.0.10', generations: ['5gc'], services: ['sbi'] },
  ausf: { address: '127.0.0.11', generations: ['5gc'], services: ['sbi'] },
  udm: { address: '127.0.0.12', generations: ['5gc'], services: ['sbi'] },
  pcf: { address: '127.0.0.13', generations: ['5gc'], services: ['sbi', 'metrics'] },
  nssf: { address: '127.0.0.14', generations: ['5gc'], services: ['sbi'] },
  bsf: { address: '127.0.0.15', generations: ['5gc'], services: ['sbi'] },
  udr: { address: '127.0.0.20', generations: ['5gc'], services: ['sbi'] },
  scp: { address: '127.0.0.200', generations: ['5gc'], services: ['sbi'] },
}

/** Port of the metrics server and of the info API. */
export const METRICS_PORT = 9090
/** Port of the service-based interface, HTTP/2 without TLS. */
export const SBI_PORT = 7777

/**
 * Roles in `core_a.addresses` that are no daemon: the addresses that eNB and gNB are told for user data, the resolvers
 * that phones are told, and the host of the subscriber database as the core reaches it.
 */
export const EXTRA_ROLES = ['s1u', 'n3', 'dns', 'dns2', 'mongo'] as const

/** Whether a role names a daemon. */
export function isDaemon(role: string): role is Daemon {
  return DAEMONS.some((daemon) => daemon === role)
}

/** What decides which daemons there are. */
interface RoleNames {
  readonly addresses: Readonly<Record<string, string>>
  readonly containers: Readonly<Record<string, string>>
  readonly ranProgram: 'srsenb' | 'gnb'
}

/**
 * The generations that are rendered: each of which a daemon of its own is named in `core_a.containers` or
 * `core_a.addresses`. Where none is, the one that the radio program (`ran.program`) speaks.
 */
export function generationsOf({ addresses, containers, ranProgram }: RoleNames): readonly Generation[] {
  const named = new Set([...Object.keys(addresses), ...Object.keys(containers)])
  const own = (generation: Generation): boolean =>
    DAEMONS.some((daemon) => {
      const { generations } = FACTS[daemon]
      return generations.length === 1 && generations[0] === generation && named.has(daemon)
    })
  const found = (['epc', '5gc'] as const).filter(own)
  if (found.length > 0) return found
  return [ranProgram === 'gnb' ? '5gc' : 'epc']
}

/** The daemons of these generations, in the order in which they are restarted: those first that others connect to. */
export function daemonsOf(generations: readonly Generation[]): readonly Daemon[] {
  return DAEMONS.filter((daemon) => FACTS[daemon].generations.some((one) => generations.includes(one)))
}

/** The address of a daemon: as configured, else the stock one. */
export function addressOf(daemon: Daemon, addresses: Readonly<Record<string, string>>): string {
  return addresses[daemon] ?? FACTS[daemon].address
}
