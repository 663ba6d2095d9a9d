import { southboundUnavailable } from '@steeple/contracts'
import { type ContainerState, gaugeIn, httpGet, recordOf } from '@steeple/southbound'
import type { CorePlaces } from '../core-places.ts'
import type { DaemonLook } from '../observe/daemon-states.ts'
import type { LogTales } from '../observe/log-tales.ts'
import type { TunLook } from '../observe/proc-net.ts'
import type { TunPool } from '../render/kept-pools.ts'
import { type Daemon, FACTS, isDaemon } from '../render/roles.ts'
import type { Bus, H2Answer } from '../sbi/bus.ts'

const LIST_PATH = '/nnrf-nfm/v1/nf-instances'
/** More functions than any core of this driver has. */
const INSTANCES_MAX = 64

interface Registration {
  readonly type: string
  readonly services: readonly string[]
}

/**
 * What the daemons register at the NRF as (TS 29.510 §6.1.6.3.3), and the services that others of this core look for there
 * (§6.1.6.3.11).
 */
export const REGISTRATIONS: Readonly<Partial<Record<Daemon, Registration>>> = {
  amf: { type: 'AMF', services: ['namf-comm'] },
  smf: { type: 'SMF', services: ['nsmf-pdusession'] },
  ausf: { type: 'AUSF', services: ['nausf-auth'] },
  udm: { type: 'UDM', services: ['nudm-ueau', 'nudm-uecm', 'nudm-sdm'] },
  udr: { type: 'UDR', services: ['nudr-dr'] },
  pcf: { type: 'PCF', services: ['npcf-am-policy-control', 'npcf-smpolicycontrol'] },
  nssf: { type: 'NSSF', services: ['nnssf-nsselection'] },
  bsf: { type: 'BSF', services: ['nbsf-management'] },
}

/** Types that are registered at the NRF now, each with its registered services. */
type Registry = ReadonlyMap<string, ReadonlySet<string>>

/**
 * Who can be found by the others. Throws `southbound_unavailable`.
 *
 * Source: TS 29.510 §5.2.2.8 (list retrieval) and §5.2.2.9 (profile retrieval).
 */
async function registryAt(bus: Bus, origin: string, signal: AbortSignal): Promise<Registry> {
  const paths = instancePaths(await bus.get('nrf', origin, LIST_PATH, signal))
  const profiles = await Promise.all(
    paths.map(async (path) => {
      const answer = await bus.get('nrf', origin, path, signal)
      // It left meanwhile.
      return answer.status === 404 ? {} : recordOf(parsed(answer))
    }),
  )
  const found = new Map<string, Set<string>>()
  for (const { nfType, nfStatus, nfServices, nfServiceList } of profiles) {
    if (nfStatus !== 'REGISTERED' || typeof nfType !== 'string') continue
    const services = Array.isArray(nfServices) ? nfServices : Object.values(recordOf(nfServiceList))
    const names = found.get(nfType) ?? new Set()
    found.set(nfType, names)
    for (const { serviceName, nfServiceStatus } of services.map(recordOf))
      if (nfServiceStatus === 'REGISTERED') names.add(String(serviceName))
  }
  return found
}

/** Why the others do not find a daemon, or not what they need of it; undefined when they do. */
function registryProblem(daemon: Daemon, registry: Registry): string | undefined {
  const own = REGISTRATIONS[daemon]
  if (own === undefined) return undefined
  const found = registry.get(own.type)
  if (found === undefined) return 'it is not registered at the NRF'
  const missing = own.services.filter((name) => !found.has(name))
  return missing.length === 0 ? undefined : `the NRF does not have its ${missing.join(', ')}`
}

function instancePaths(list: H2Answer): readonly string[] {
  const { item } = recordOf(recordOf(parsed(list))._links)
  const links = Array.isArray(item) ? item : item === undefined ? [] : [item]
  return links.slice(0, INSTANCES_MAX).flatMap((link) => {
    const { href } = recordOf(link)
    const path = typeof href === 'string' ? URL.parse(href)?.pathname : undefined
    // Asked at the NRF itself, whatever host its answer names.
    return path?.startsWith(`${LIST_PATH}/`) === true ? [path] : []
  })
}

function parsed({ status, body }: H2Answer): unknown {
  if (status !== 200) throw southboundUnavailable(`nrf cannot be asked: it answered ${status}`)
  try {
    return JSON.parse(body)
  } catch (error) {
    throw southboundUnavailable('nrf cannot be asked: its answer is no JSON', { cause: error })
  }
}

/** Where daemons are asked whether they do their work. */
type WorkPlaces = Pick<
  CorePlaces,
  'generations' | 'daemons' | 'urlOf' | 'busOf' | 'at' | 'addresses' | 'containers' | 'subnet'
>

export interface WorkParts {
  readonly look: DaemonLook
  readonly bus: Bus
  readonly tales: LogTales
  readonly tun: TunLook
  /** The networks of the UPF's file. */
  pools(): Promise<readonly TunPool[]>
  /** The container of the UPF; undefined when it has none, or nobody can be asked. */
  upfContainer(signal: AbortSignal): Promise<ContainerState | undefined>
}

const METRICS_MS = 2_000

/**
 * What keeps a daemon that answers from doing its work, in words that follow its name; undefined when nothing is known to:
 * what can be the fault of a file, and the TUN device of the UPF.
 *
 * S1 and N2 are not asked for: the real MME and AMF end when they cannot listen there.
 */
async function workProblem(
  daemon: Daemon,
  places: WorkPlaces,
  parts: WorkParts,
  registry: Registry | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (
    (await fileProblem(daemon, places, parts, registry, signal)) ??
    (daemon === 'upf' ? await tunProblem(places, parts, signal) : undefined)
  )
}

/**
 * The part of it that can come from a file:
 *
 * - SMF and UPF: each has the other as a PFCP peer; SGW-C and SGW-U likewise, by the log of the SGW-C;
 * - MME and HSS, SMF and PCRF: a Diameter connection, by the logs of MME and SMF;
 * - network functions of 5G: registered at the NRF with what the others need of them (`registry`: undefined when it cannot be asked).
 */
async function fileProblem(
  daemon: Daemon,
  places: WorkPlaces,
  parts: WorkParts,
  registry: Registry | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const hasBus = registry !== undefined && places.generations.includes('5gc')
  return (
    (hasBus ? registryProblem(daemon, registry) : undefined) ??
    (await pfcpProblem(daemon, places, signal)) ??
    (speaksHere(daemon, places) ? await parts.tales(daemon, signal) : undefined)
  )
}

async function pfcpProblem(
  daemon: Daemon,
  { urlOf }: WorkPlaces,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (daemon !== 'smf' && daemon !== 'upf') return undefined
  const peers = await pfcpPeers(daemon, urlOf(daemon), signal)
  return peers === 0 ? `it has no PFCP association with the ${daemon === 'smf' ? 'UPF' : 'SMF'}` : undefined
}

/** Every rendered file names the same device; the machine makes it, and gives it its address. */
async function tunProblem(
  { subnet }: WorkPlaces,
  { tun, tales, upfContainer, pools }: WorkParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Only an IPv4 pool shows in the table that is read.
  const missing = subnet.includes(':') ? undefined : await tun(await upfContainer(signal), await pools())
  return missing ?? (await tales('upf', signal))
}

/** Whether its log tells of what a file can be the fault of. Gx is the EPC's; the UPF's tells of its TUN device alone. */
function speaksHere(daemon: Daemon, { generations }: WorkPlaces): boolean {
  return daemon !== 'upf' && (daemon !== 'smf' || generations.includes('epc'))
}

/** The same for all that are up. */
export async function workProblems(
  up: readonly Daemon[],
  places: WorkPlaces,
  parts: WorkParts,
  signal: AbortSignal,
): Promise<ReadonlyMap<Daemon, string>> {
  const registry = up.includes('nrf')
    ? await registryAt(parts.bus, places.busOf('nrf'), signal).catch(() => undefined)
    : undefined
  signal.throwIfAborted()
  const found = await Promise.all(
    up.map(async (daemon) => [daemon, await workProblem(daemon, places, parts, registry, signal)] as const),
  )
  return new Map(found.flatMap(([daemon, words]) => (words === undefined ? [] : [[daemon, words] as const])))
}

/**
 * Whether a daemon does its work after a restart, as far as files can help: undefined when it does, else what is missing. Throws
 * `southbound_unavailable` or the signal's reason.
 */
export async function probeDaemon(
  name: string,
  places: WorkPlaces,
  parts: WorkParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isDaemon(name)) return undefined
  if (FACTS[name].services.includes('metrics')) {
    const { status } = await httpGet(name, `${places.urlOf(name)}/`, signal)
    if (status !== 200) return `its metrics server answers ${status}`
  } else if ((await parts.look.one(name, places, signal)) === 'down') return 'it does not answer'
  const is5g = places.generations.includes('5gc') && FACTS[name].generations.includes('5gc')
  const registry = is5g ? await registryAt(parts.bus, places.busOf('nrf'), signal) : undefined
  return await fileProblem(name, places, parts, registry, signal)
}

/** Undefined when it cannot be read, or its release does not count them. */
async function pfcpPeers(daemon: Daemon, base: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const { body } = await httpGet(daemon, `${base}/metrics`, signal, METRICS_MS)
    return gaugeIn(body, 'pfcp_peers_active')
  } catch {
    signal.throwIfAborted()
    return undefined // one that does not answer is another fault, which is seen elsewhere
  }
}
