import type { Engine } from '@steeple/southbound'
import { gaugeIn } from '../info/gauges.ts'
import { httpGet } from '../info/http-get.ts'
import { type Daemon, FACTS, type Generation, isDaemon } from '../render/roles.ts'
import { hintFor } from './hints.ts'
import { NF_TYPES, registeredTypes } from './nrf-registry.ts'

/** Where daemons are asked whether they do their work. */
export interface ProbePlaces {
  readonly generations: readonly Generation[]
  readonly urlOf: (daemon: Daemon) => string
  readonly nrfOrigin: string
  /** The containers that are named. */
  readonly containers: Readonly<Record<string, string>>
}

const WORDS_LINES = 40

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
  places: ProbePlaces,
  engine: Pick<Engine, 'logsTail'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isDaemon(name)) return undefined
  const problem = await problemOf(name, places, signal)
  if (problem === undefined) return undefined
  const hint = await hintOf(places.containers[name], engine, signal)
  return hint === undefined ? problem : `${problem} (${hint})`
}

async function problemOf(
  daemon: Daemon,
  { generations, urlOf, nrfOrigin }: ProbePlaces,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    if (FACTS[daemon].services.includes('metrics')) {
      const { status } = await httpGet(daemon, `${urlOf(daemon)}/`, signal)
      if (status !== 200) return `${daemon} answers ${status} at ${urlOf(daemon)}`
    }
    if ((daemon === 'smf' || daemon === 'upf') && !(await hasPeer(daemon, urlOf(daemon), signal)))
      return `${daemon} has no PFCP peer: ${daemon === 'smf' ? 'the UPF' : 'the SMF'} is not there`
    if (generations.includes('5gc')) return await registryProblem(daemon, nrfOrigin, signal)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Error ? error.message : `${daemon} cannot be asked`
  }
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
  return type === undefined || types.has(type) ? undefined : `${daemon} is not registered at the NRF`
}

/** What its last words mean; the words themselves are shown by who applies. */
async function hintOf(
  container: string | undefined,
  engine: Pick<Engine, 'logsTail'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (container === undefined) return undefined
  try {
    return hintFor(await engine.logsTail(container, WORDS_LINES, signal))
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}
