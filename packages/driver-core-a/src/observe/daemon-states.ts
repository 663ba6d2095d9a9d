import { httpGet } from '../info/http-get.ts'
import { type Daemon, FACTS } from '../render/roles.ts'

/** What can be said of a daemon. */
export type DaemonState = 'up' | 'down' | 'unknown'

/** How long a daemon may take to say that it lives, ms. */
const ALIVE_MS = 800

/** Asks the containers of daemons; undefined for one that is none. */
export type ContainerState = (daemon: Daemon, signal: AbortSignal) => Promise<DaemonState | undefined>

/**
 * Which daemons are up: those with a metrics server by `GET /`, which shows that their main loop turns, others by the
 * state of their container, if the service can see it.
 */
export async function daemonStates(
  daemons: readonly Daemon[],
  urlOf: (daemon: Daemon) => string,
  containerState: ContainerState,
  signal: AbortSignal,
): Promise<ReadonlyMap<Daemon, DaemonState>> {
  const states = await Promise.all(
    daemons.map(async (daemon): Promise<[Daemon, DaemonState]> => {
      const hasServer = FACTS[daemon].services.includes('metrics')
      const state = hasServer
        ? await isAlive(daemon, urlOf(daemon), signal)
        : ((await containerState(daemon, signal)) ?? 'unknown')
      return [daemon, state]
    }),
  )
  return new Map(states)
}

async function isAlive(daemon: Daemon, base: string, signal: AbortSignal): Promise<DaemonState> {
  try {
    return (await httpGet(daemon, `${base}/`, signal, ALIVE_MS)).status === 200 ? 'up' : 'down'
  } catch {
    signal.throwIfAborted()
    return 'down'
  }
}
