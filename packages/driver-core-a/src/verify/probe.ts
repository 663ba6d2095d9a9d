import type { ContainerState } from '@steeple/southbound'
import { gaugeIn, httpGet } from '@steeple/southbound'
import type { CorePlaces } from '../core-places.ts'
import type { DaemonLook } from '../observe/daemon-states.ts'
import type { LogTales } from '../observe/log-tales.ts'
import type { TunLook } from '../observe/tun-device.ts'
import { type Daemon, FACTS, isDaemon } from '../render/roles.ts'
import type { Bus } from '../sbi/bus.ts'
import { type Registry, registryAt, registryProblem } from './nrf-registry.ts'

/** Where daemons are asked whether they do their work. */
export type WorkPlaces = Pick<
  CorePlaces,
  'generations' | 'daemons' | 'urlOf' | 'busOf' | 'at' | 'containers' | 'subnet'
>

/** What they are asked by. */
export interface WorkParts {
  readonly look: DaemonLook
  readonly bus: Bus
  readonly tales: LogTales
  readonly tun: TunLook
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
    (speaksHere(daemon, places) ? await parts.tales.problem(daemon, signal) : undefined)
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
  { tun, tales, upfContainer }: WorkParts,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Only an IPv4 pool shows in the table that is read.
  const missing = subnet.includes(':') ? undefined : await tun.problem(await upfContainer(signal))
  return missing ?? (await tales.problem('upf', signal))
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
