import { randomFillSync } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { containerLook, type Engine, httpGet, pause } from '@steeple/southbound'
import type { CorePlaces } from '../core-places.ts'
import { type Daemon, FACTS } from '../render/roles.ts'
import type { Bus } from '../sbi/bus.ts'

/** What is asked where, and from which port of this machine (0: any). */
interface Echo {
  readonly port: number
  readonly from: number
  readonly request: string
  /** The octets of its sequence number: where they begin, and how many. */
  readonly sequence: readonly [at: number, count: number]
}

/** GTP-U Echo Request, TS 29.281 §7.2.1. */
const GTPU_ECHO: Echo = { port: 2152, from: 0, request: '320100040000000000010000', sequence: [8, 2] }
/**
 * GTP-C Echo Request, TS 29.274 §7.1.1, with a recovery counter. Always from one port: the core remembers each address and port
 * that it was spoken to from, and its table of them is small.
 */
const GTPC_ECHO: Echo = {
  port: 2123,
  from: 21_230,
  request: '40010009000001000300010000',
  sequence: [4, 3],
}

/** What daemons without a server of HTTP are asked by. */
const ECHOES: Readonly<Record<'gtpu' | 'gtpc', Echo>> = { gtpu: GTPU_ECHO, gtpc: GTPC_ECHO }

/** How long another look may keep the port, ms. */
const TAKEN_MS = 50

/** Asks an address whether it answers an echo request. False also when it cannot be asked from here. */
async function echoes(echo: Echo, address: string, limitMs: number, signal: AbortSignal): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
  for (;;) {
    const how = await asked(echo, address, limit)
    signal.throwIfAborted()
    if (how !== 'taken' || limit.aborted) return how === 'answered'
    await pause(TAKEN_MS, signal)
  }
}

async function asked(
  { port, from, request, sequence }: Echo,
  address: string,
  limit: AbortSignal,
): Promise<'answered' | 'silent' | 'taken'> {
  const { promise, resolve } = Promise.withResolvers<'answered' | 'silent' | 'taken'>()
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  const end = (): void => resolve('silent')
  limit.addEventListener('abort', end, { once: true })
  // Of both protocols an Echo Response is message 2.
  socket.on('message', (answer) => answer[1] === 2 && resolve('answered'))
  socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE' ? 'taken' : 'silent'))
  // With the number of another look the core takes it for a repetition of that, and logs it.
  const message = randomFillSync(Buffer.from(request, 'hex'), ...sequence)
  // Connected, it hears that nobody listens there.
  socket.on('connect', () => socket.send(message))
  socket.bind(from, () => socket.connect(port, address))
  try {
    return limit.aborted ? 'silent' : await promise
  } finally {
    limit.removeEventListener('abort', end)
    socket.close()
  }
}

/** What can be said of a daemon. */
type DaemonState = 'up' | 'down' | 'unknown'

/** How long a daemon may take to say that it lives, ms. */
const ALIVE_MS = 800

/** Asks the containers of daemons; undefined for one that is none. */
export type ContainerState = (daemon: Daemon, signal: AbortSignal) => Promise<DaemonState | undefined>

/** The state of what runs the daemons, where it is named. */
export function containerStateOf(
  engine: Engine,
  places: () => Pick<CorePlaces, 'containers'>,
): ContainerState {
  return async (daemon, signal) => {
    const container = places().containers[daemon]
    if (container === undefined) return undefined
    return await containerLook(engine, container, signal)
  }
}

type LookPlaces = Pick<CorePlaces, 'daemons' | 'urlOf' | 'busOf' | 'at' | 'addresses' | 'containers'>

/** Looks at daemons, and remembers which it has seen. */
export interface DaemonLook {
  all(places: LookPlaces, signal: AbortSignal): Promise<ReadonlyMap<Daemon, DaemonState>>
  one(daemon: Daemon, places: LookPlaces, signal: AbortSignal): Promise<DaemonState>
}

/** Without these nobody can be seen or kicked: they are down when they do not answer, whoever named them. */
const INDISPENSABLE: readonly Daemon[] = ['mme', 'amf']

/**
 * Which daemons are up: one whose container is gone or stopped is down, if the service can see it. All are asked besides
 * whether their main loop turns: by `GET /` of the metrics server, else by a PING on the service bus, an echo of GTP-C
 * (SGW-C) or GTP-U (SGW-U, at its own address or the one that base stations are told).
 *
 * One that does not answer is down if it answered before, has a container or is indispensable; otherwise it may not be
 * there at all, or not within reach, and is unknown. What speaks no HTTP/1 may be out of reach although it has a container:
 * that counts once another of its kind has answered.
 */
export function daemonLook(containerState: ContainerState, bus: Pick<Bus, 'isAlive'>): DaemonLook {
  const seen = new Set<Daemon>()
  const one: DaemonLook['one'] = async (daemon, places, signal) => {
    const container = await containerState(daemon, signal)
    // Somebody else may answer at the address of one that is gone.
    if (container === 'down') return 'down'
    if (await isAlive(daemon, places, bus, signal)) {
      seen.add(daemon)
      return 'up'
    }
    const way = wayTo(daemon)
    const isInReach = way === 'http' || [...seen].some((other) => wayTo(other) === way)
    const isExpected =
      seen.has(daemon) || INDISPENSABLE.includes(daemon) || (daemon in places.containers && isInReach)
    if (isExpected) return 'down'
    return way === 'http' ? 'unknown' : (container ?? 'unknown')
  }
  return {
    one,
    all: async (places, signal) =>
      new Map(
        await Promise.all(
          places.daemons.map(async (daemon) => [daemon, await one(daemon, places, signal)] as const),
        ),
      ),
  }
}

function wayTo(daemon: Daemon): 'http' | 'bus' | 'gtp' {
  const { services } = FACTS[daemon]
  if (services.includes('metrics')) return 'http'
  return services.includes('sbi') ? 'bus' : 'gtp'
}

async function isAlive(
  daemon: Daemon,
  places: LookPlaces,
  bus: Pick<Bus, 'isAlive'>,
  signal: AbortSignal,
): Promise<boolean> {
  const way = wayTo(daemon)
  if (way === 'bus') return await bus.isAlive(places.busOf(daemon), ALIVE_MS, signal)
  if (way === 'gtp') {
    if (!FACTS[daemon].services.includes('gtpu'))
      return await echoes(ECHOES.gtpc, places.at(daemon), ALIVE_MS, signal)
    // A file that others wrote can have the user plane at the address of the base stations' side alone.
    const all = [...new Set([places.at(daemon), places.addresses.s1u ?? places.at(daemon)])]
    const answers = all.map(async (address) => await echoes(ECHOES.gtpu, address, ALIVE_MS, signal))
    return (await Promise.all(answers)).includes(true)
  }
  try {
    return (await httpGet(daemon, `${places.urlOf(daemon)}/`, signal, ALIVE_MS)).status === 200
  } catch {
    signal.throwIfAborted()
    return false
  }
}
