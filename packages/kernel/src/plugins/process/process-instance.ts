import {
  type ComponentHealth,
  type Instance,
  notReady,
  type Outcome,
  pluginIsolation,
  type Reconciler,
  type Reply,
  type Request,
  type Route,
  southboundUnavailable,
} from '@steeple/contracts'
import type { Peer } from './peer.ts'
import type { WireInstance, WireRequest } from './wire.ts'
import { serviceFrom } from './wire-service.ts'

/** Headers that a route in another process may read. No credential is among them. */
const PASSED_HEADERS = ['accept', 'accept-language', 'if-none-match', 'last-event-id', 'user-agent'] as const
/** Beyond the reconciler's own bound: time for the other process to end the call by itself. */
const RECONCILE_MARGIN_MS = 5_000
/** Bound of a reconcile call that names none. */
const RECONCILE_BOUND_MS = 60_000

/** Where the process is now: its peer, or why there is none. */
export type Presence = { readonly peer: Peer } | { readonly away: string }

/** The parts of a plugin that runs elsewhere, as data with functions that ask the process of the moment. */
export function instanceFrom(
  description: WireInstance,
  id: string,
  presence: () => Presence,
): Pick<Instance, 'routes' | 'reconcilers' | 'services'> {
  const peer = (): Peer => {
    const now = presence()
    if ('away' in now)
      throw southboundUnavailable(`the plugin ${id} is away: ${now.away}`, { retryAfterS: 2 })
    return now.peer
  }
  return {
    routes: description.routes.map((route, index) => routeFrom(route, index, id, presence)),
    reconcilers: description.reconcilers.map((reconciler, index) => reconcilerFrom(reconciler, index, peer)),
    services: new Map(
      description.services.map((service) => [
        service.id,
        serviceFrom(
          service,
          async (method, args) => await peer().call('service', [service.id, method, ...args]),
        ),
      ]),
    ),
  }
}

function routeFrom(
  route: WireInstance['routes'][number],
  index: number,
  id: string,
  presence: () => Presence,
): Route {
  const handle = async (request: Request<never, never, never>): Promise<Reply> => {
    const now = presence()
    if ('away' in now) throw notReady(`the plugin ${id} is restarting; try again soon`, { retryAfterS: 2 })
    // The child answers what its own route gave.
    return (await now.peer.call('route', [index, requestParts(request), request.signal])) as Reply
  }
  if (route.method !== 'GET') throw pluginIsolation(`route ${route.path} changes something`)
  return { ...route, handle }
}

function requestParts(request: Request<never, never, never>): WireRequest {
  const headers = PASSED_HEADERS.flatMap((name) => {
    const value = request.header(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const { kind, id, name, roles } = request.principal
  return {
    id: request.id,
    params: { ...(request.params as object | undefined) },
    query: { ...(request.query as object | undefined) },
    principal: { kind, id, name, roles: new Set(roles) },
    headers: Object.fromEntries(headers),
  }
}

function reconcilerFrom(
  description: WireInstance['reconcilers'][number],
  index: number,
  peer: () => Peer,
): Reconciler {
  const boundMs = (description.timeoutMs ?? RECONCILE_BOUND_MS) + RECONCILE_MARGIN_MS
  return {
    ...description,
    // The child answers what its own reconciler gave; the lane checks the outcomes.
    keys: async () => (await peer().call('keys', [index])) as readonly string[],
    reconcile: async (keys, signal) =>
      (await peer().call('reconcile', [index, [...keys], signal], boundMs)) as ReadonlyMap<string, Outcome>,
  }
}

/** The health of a plugin whose process is not there. */
export function awayHealth(
  id: string,
  kind: ComponentHealth['kind'],
  away: string,
  required: boolean,
): readonly ComponentHealth[] {
  return [{ name: id, kind, status: 'down', detail: `its process is away: ${away}`, required }]
}
