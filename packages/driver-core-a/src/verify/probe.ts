import { gaugeIn, httpGet } from '@steeple/open5gs-info'
import { type Daemon, FACTS, type Generation, isDaemon } from '../render/roles.ts'
import { NF_TYPES, registeredTypes } from './nrf-registry.ts'

/** Where daemons are asked whether they do their work. */
export interface ProbePlaces {
  readonly generations: readonly Generation[]
  readonly urlOf: (daemon: Daemon) => string
  readonly nrfOrigin: string
}

/**
 * Whether a daemon does its work after a restart: undefined when it does, else what is missing.
 *
 * - with a metrics server: its main loop answers;
 * - SMF and UPF: one has the other as a PFCP peer;
 * - network functions of 5G: registered at the NRF, so that others find them.
 *
 * What others are is known by their container alone. Throws `southbound_unavailable` or the signal's reason.
 */
export async function probeDaemon(
  name: string,
  { generations, urlOf, nrfOrigin }: ProbePlaces,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isDaemon(name)) return undefined
  if (FACTS[name].services.includes('metrics')) {
    const { status } = await httpGet(name, `${urlOf(name)}/`, signal)
    if (status !== 200) return `its metrics server answers ${status}`
  }
  if ((name === 'smf' || name === 'upf') && !(await hasPeer(name, urlOf(name), signal)))
    return `it has no PFCP peer: the ${name === 'smf' ? 'UPF' : 'SMF'} is not there`
  return generations.includes('5gc') ? await registryProblem(name, nrfOrigin, signal) : undefined
}

async function hasPeer(daemon: Daemon, base: string, signal: AbortSignal): Promise<boolean> {
  const { body } = await httpGet(daemon, `${base}/metrics`, signal)
  return (gaugeIn(body, 'pfcp_peers_active') ?? 0) >= 1
}

async function registryProblem(
  daemon: Daemon,
  origin: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const type = NF_TYPES[daemon]
  if (daemon !== 'nrf' && type === undefined) return undefined
  const types = await registeredTypes(origin, signal)
  return type === undefined || types.has(type) ? undefined : 'it is not registered at the NRF'
}
