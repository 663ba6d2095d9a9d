import {
  type Instance,
  type Plugin,
  type Principal,
  pluginIsolation,
  type Reply,
  type Route,
} from '@steeple/contracts'
import { createScheduler, type Scheduler } from '../../scheduler.ts'
import type { Timers } from '../../timers.ts'
import { createLoader } from '../loader.ts'
import type { FoundPlugin } from '../manifest.ts'
import { createScope, type Scope } from '../scope.ts'
import { createChildContext, type ParentView } from './child-context.ts'
import { createChildLog } from './child-log.ts'
import { createPeer, type Peer } from './peer.ts'
import type { Message, WireInstance, WirePlugin, WireRequest, WireService, WireSetup } from './wire.ts'
import { describeService } from './wire-service.ts'

/** The plugin in this process. */
export interface ChildHost {
  receive(message: Message): void
  /** Stops the plugin and closes what it opened. Never throws. */
  leave(why: 'unload' | 'upgrade' | 'shutdown'): Promise<void>
}

/** Serves the parent's calls. One plugin, set up once. */
export function createChildHost(send: (message: Message) => void, timers: Timers): ChildHost {
  const view: ParentView = { settings: undefined, services: new Map(), listeners: new Set() }
  let plugin: Plugin | undefined
  let instance: Instance | undefined
  let scope: Scope | undefined
  let scheduler: Scheduler | undefined
  let hasLeft = false

  const load = async (found: FoundPlugin, contractsUrl: string): Promise<WirePlugin> => {
    plugin = await createLoader(contractsUrl).load(found)
    return { config: plugin.config, migrations: plugin.migrations?.length ?? 0 }
  }

  const setup = async (given: WireSetup): Promise<WireInstance> => {
    view.settings = given.settings
    view.services = byId(given.services)
    const log = createChildLog(peer)
    scope = createScope(timers, log)
    scheduler = createScheduler({ timers, log })
    const before = scheduler
    scope.defer(() => before.close())
    if (plugin === undefined) throw new TypeError('the plugin is not loaded')
    instance = await plugin.setup(createChildContext(given, { view, peer, log, scope, scheduler }))
    return describeInstance(instance)
  }

  const leave = async (why: 'unload' | 'upgrade' | 'shutdown'): Promise<void> => {
    if (hasLeft) return
    hasLeft = true
    scope?.retire()
    try {
      await instance?.stop?.(why)
    } catch (error) {
      createChildLog(peer).error({ err: error }, 'plugin did not stop')
    }
    await scope?.close()
  }

  // Arguments are of the types that the parent, of the same build, sends.
  const peer: Peer = createPeer({
    send,
    timers,
    calls: {
      load: ([found, contractsUrl]) => load(found as FoundPlugin, contractsUrl as string),
      setup: ([given]) => setup(given as WireSetup),
      start: async () => {
        await instance?.start?.()
        scheduler?.start()
      },
      health: async () => await instance?.health?.(),
      route: ([index, request], signal) =>
        answer(instance?.routes?.[index as number], request as WireRequest, signal),
      keys: async ([index]) => await instance?.reconcilers?.[index as number]?.keys(),
      reconcile: async ([index, keys], signal) =>
        await instance?.reconcilers?.[index as number]?.reconcile(keys as readonly string[], signal),
      service: async ([id, method, ...args]) => await invoke(instance, id as string, method as string, args),
      stop: ([why]) => leave(why as 'unload' | 'upgrade' | 'shutdown'),
    },
    tells: {
      retire: () => scope?.retire(),
      services: ([list]) => {
        view.services = byId(list as readonly WireService[])
      },
      settings: ([settings]) => {
        view.settings = settings
        for (const listener of view.listeners) listener()
      },
    },
  })

  return { receive: (message) => peer.receive(message), leave }
}

function byId(services: readonly WireService[]): ReadonlyMap<string, WireService> {
  return new Map(services.map((service) => [service.id, service]))
}

/** What the parent may know. Throws `plugin_isolation` for what cannot work across processes. */
function describeInstance(instance: Instance): WireInstance {
  for (const route of instance.routes ?? []) {
    const where = `route ${route.method} ${route.path}`
    if (route.method !== 'GET') {
      throw pluginIsolation(
        `${where} may change desired state, which needs the store; declare it in an inline plugin`,
      )
    }
    if (route.paged === true) throw pluginIsolation(`${where} is paged, which needs the store`)
  }
  return {
    routes: (instance.routes ?? []).map(({ handle: _, ...route }) => route),
    reconcilers: (instance.reconcilers ?? []).map(({ resource, resyncMs, batch, timeoutMs }) => ({
      resource,
      resyncMs,
      ...(batch === undefined ? {} : { batch }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })),
    services: [...(instance.services ?? [])].map(([id, service]) => describeService(id, service)),
    hasHealth: instance.health !== undefined,
  }
}

async function answer(route: Route | undefined, request: WireRequest, signal: AbortSignal): Promise<Reply> {
  if (route === undefined) throw pluginIsolation('the process has other routes than the service knows')
  const reply = await route.handle({
    id: request.id,
    // The edge has checked them against the route's schemas.
    params: request.params as never,
    query: request.query as never,
    body: undefined as never,
    principal: request.principal as Principal,
    signal,
    header: (name) => request.headers[name.toLowerCase()],
    page: () => {
      throw pluginIsolation('a route of a plugin with isolation "process" has no pages')
    },
    mutate: async () => {
      throw pluginIsolation('a route of a plugin with isolation "process" changes nothing')
    },
  })
  if (reply.stream !== undefined) throw pluginIsolation('a stream cannot cross between processes')
  return reply
}

async function invoke(
  instance: Instance | undefined,
  id: string,
  method: string,
  args: readonly unknown[],
): Promise<unknown> {
  const service = instance?.services?.get(id)
  const member: unknown = service === undefined ? undefined : Reflect.get(service, method)
  if (service === undefined || typeof member !== 'function')
    throw pluginIsolation(`${id} has no method ${method}`)
  const result: unknown = await Reflect.apply(member, service, args)
  return result
}
