import { httpGet } from '@steeple/open5gs-info'
import type { CorePlaces } from '../core-places.ts'
import { type Daemon, FACTS } from '../render/roles.ts'

/** What can be said of a daemon. */
export type DaemonState = 'up' | 'down' | 'unknown'

/** How long a daemon may take to say that it lives, ms. */
const ALIVE_MS = 800

/** Asks the containers of daemons; undefined for one that is none. */
export type ContainerState = (daemon: Daemon, signal: AbortSignal) => Promise<DaemonState | undefined>

/** Looks at daemons, and remembers which it has seen. */
export type DaemonLook = (
  places: Pick<CorePlaces, 'daemons' | 'urlOf' | 'containers'>,
  signal: AbortSignal,
) => Promise<ReadonlyMap<Daemon, DaemonState>>

/** Without these nobody can be seen or kicked: they are down when they do not answer, whoever named them. */
const INDISPENSABLE: readonly Daemon[] = ['mme', 'amf']

/**
 * Which daemons are up: one whose container is gone or stopped is down, if the service can see it. Those with a metrics
 * server are asked besides (`GET /` shows that their main loop turns).
 *
 * One that does not answer is down if it answered before, has a container or is indispensable; otherwise it may not be
 * there at all, or not within reach, and is unknown.
 */
export function daemonLook(containerState: ContainerState): DaemonLook {
  const seen = new Set<Daemon>()
  return async ({ daemons, urlOf, containers }, signal) => {
    const states = await Promise.all(
      daemons.map(async (daemon): Promise<[Daemon, DaemonState]> => {
        const container = await containerState(daemon, signal)
        if (!FACTS[daemon].services.includes('metrics')) return [daemon, container ?? 'unknown']
        // Somebody else may answer at the address of one that is gone.
        if (container === 'down') return [daemon, 'down']
        if (await isAlive(daemon, urlOf(daemon), signal)) {
          seen.add(daemon)
          return [daemon, 'up']
        }
        const isExpected = seen.has(daemon) || INDISPENSABLE.includes(daemon) || daemon in containers
        return [daemon, isExpected ? 'down' : 'unknown']
      }),
    )
    return new Map(states)
  }
}

async function isAlive(daemon: Daemon, base: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await httpGet(daemon, `${base}/`, signal, ALIVE_MS)).status === 200
  } catch {
    signal.throwIfAborted()
    return false
  }
}
