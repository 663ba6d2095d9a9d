import {
  type ComponentHealth,
  type Context,
  type Instance,
  type Log,
  type Manifest,
  notReady,
  type Plugin,
  type Reconciler,
  type Route,
  type ServiceRef,
  type Settings,
  shapeOf,
  shapeProblem,
} from '@steeple/contracts'
import { type Timers, within } from '../clock/deadline.ts'
import type { Subscription } from '../mutation/outbox.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import { createScheduler, type Scheduler } from '../reconcile/scheduler.ts'
import type { PluginMetrics } from '../telemetry/metrics.ts'
import type { PluginHost, RouteSet } from './host.ts'

/** Why a copy leaves. */
export type LeaveReason = 'unload' | 'upgrade' | 'shutdown'

/** One copy of a plugin that was set up. */
export interface LivePlugin {
  readonly found: FoundPlugin
  readonly plugin: Plugin
  /** Its configuration when it was set up, and everybody's. */
  readonly config: unknown
  readonly settings: Settings
  readonly instance: Instance
  readonly routes: RouteSet
  /** Its own and those of its subscriptions. */
  readonly reconcilers: readonly Reconciler[]
  readonly subscriptions: readonly Subscription[]
  readonly services: ReadonlyMap<string, object>
  readonly metrics: PluginMetrics
  /** Services of others that it has asked for. */
  readonly used: ReadonlySet<string>
  /** Begins its work. Bounded. */
  start(): Promise<void>
  /**
   * Has it end what it does in the world: the first step of each way to leave, taken in the turn of the call. Done once; a
   * second call waits for the first. Never throws.
   */
  quiesce(why: LeaveReason): Promise<void>
  /** Fires its retiring signal. */
  retire(): void
  /** After its routes are withdrawn and drained: quiesces, stop, then the deferred steps. Never throws. */
  leave(why: LeaveReason): Promise<void>
}

/** Bound on a plugin's setup, start and on the import of its module. */
export const STEP_BOUND_MS = 10_000
/** Bound on the end of what a plugin does in the world. */
const QUIESCE_BOUND_MS = 7_000
/** Bound on a plugin's stop. */
const STOP_BOUND_MS = 5_000

/** Sets a copy up. When that fails or takes too long, what it opened is closed and the error is thrown. */
export async function setUp(
  host: PluginHost,
  found: FoundPlugin,
  plugin: Plugin,
  config: unknown,
): Promise<LivePlugin> {
  const { id } = found.manifest
  const log = host.logOf(id)
  const scope = createScope(host.timers, log)
  const { timers, placement, reasons } = host
  const scheduler = createScheduler({ timers, log, placement, reasons })
  const metrics = host.metrics.open(id, found.section.metrics)
  scope.defer(() => metrics.withdraw())
  scope.defer(() => scheduler.close())
  const parts: Parts = {
    ...{ host, found, plugin, config, log, scope, scheduler, metrics },
    ...{ used: new Set(), subscriptions: [] },
  }
  let isLate = false
  try {
    const begun = (async () => await plugin.setup(createContext(parts)))()
    begun.then(
      async (instance) => {
        if (isLate) await stopLate(instance, host)
      },
      () => undefined,
    )
    const instance = await within(host.timers, STEP_BOUND_MS, 'its setup', () => begun)
    const problem = problemOf(found.manifest, instance)
    if (problem !== undefined) throw new TypeError(problem)
    return liveOf(parts, instance)
  } catch (error) {
    isLate = true
    await scope.close()
    throw error
  }
}

/** A setup that came to an end after nobody waited any more: its scope is closed, only its stop is left. */
async function stopLate(instance: Instance, host: PluginHost): Promise<void> {
  try {
    await within(host.timers, STOP_BOUND_MS, 'its stop', async () => await instance.stop?.('unload'))
  } catch (error) {
    host.log.warn({ err: error }, 'plugin that was set up too late did not stop')
  }
}

function liveOf(parts: Parts, instance: Instance): LivePlugin {
  const { host, found, plugin, config, scope, scheduler, metrics, used, subscriptions } = parts
  const { id } = found.manifest
  let quiet: Promise<void> | undefined
  const quiesce = async (why: LeaveReason): Promise<void> => {
    try {
      await within(host.timers, QUIESCE_BOUND_MS, 'its quiescing', async () => await instance.quiesce?.(why))
    } catch (error) {
      host.log.error({ plugin: id, err: error }, 'plugin has not confirmed that its effects have ended')
    }
  }
  return {
    found,
    plugin,
    config,
    settings: host.settings.current(),
    instance,
    metrics,
    used,
    routes: {
      plugin: id,
      errors: found.manifest.errors ?? [],
      paths: found.manifest.paths ?? {},
      routes: instance.routes ?? [],
      retiring: scope.retiring,
      isInstalled: found.origin === 'installed',
    },
    // Read when it has started: `on` may be called until then.
    get reconcilers() {
      return [...(instance.reconcilers ?? []), ...subscriptions.map(({ reconciler }) => reconciler)]
    },
    subscriptions,
    services: instance.services ?? new Map(),
    start: async () => {
      await within(host.timers, STEP_BOUND_MS, 'its start', async () => await instance.start?.())
      scheduler.start()
    },
    quiesce: async (why) => {
      quiet ??= quiesce(why)
      await quiet
    },
    retire: () => scope.retire(),
    leave: async (why) => {
      quiet ??= quiesce(why)
      scope.retire()
      await quiet
      try {
        await within(host.timers, STOP_BOUND_MS, 'its stop', async () => await instance.stop?.(why))
      } catch (error) {
        host.log.error({ plugin: id, err: error }, 'plugin did not stop')
      }
      await scope.close()
    },
  }
}

/** What an instance brings that its manifest or the contract does not allow. */
function problemOf(manifest: Manifest, instance: Instance): string | undefined {
  if (typeof instance !== 'object' || instance === null) return 'setup gave no instance'
  const problem = servicesProblem(manifest, instance.services ?? new Map())
  if (problem !== undefined) return problem
  for (const route of instance.routes ?? []) {
    const problem = routeProblem(route, Object.keys(manifest.paths ?? {}))
    if (problem !== undefined) return `route ${String(route.method)} ${String(route.path)} ${problem}`
  }
  return undefined
}

function servicesProblem(manifest: Manifest, services: ReadonlyMap<string, object>): string | undefined {
  const declared = new Set(manifest.provides)
  for (const [id, service] of services) {
    if (!declared.has(id)) return `it provides ${id}, which steeple.provides does not name`
    const problem = shapeProblem(shapeOf(id), service)
    if (problem !== undefined) return `its service ${id} ${problem}`
  }
  for (const id of declared)
    if (!services.has(id)) return `steeple.provides names ${id}, which setup does not give`
  return undefined
}

/** The type checker asks for all of it; a plugin in plain JavaScript was never asked. */
function routeProblem(route: Route, prefixes: readonly string[]): string | undefined {
  if (typeof route.path !== 'string' || !route.path.startsWith('/')) return 'has no path'
  if (typeof route.handle !== 'function') return 'has no handler'
  if (typeof route.role !== 'string') return 'names no role'
  if (route.method !== 'GET' && route.audit === undefined) return 'names no audit action'
  // The page at the root lies under no prefix but that of all others.
  const isDeclared =
    route.path === '/' || prefixes.some((prefix) => `${route.path}/`.startsWith(`${prefix}/`))
  return prefixes.length === 0 || isDeclared ? undefined : 'is under none of steeple.paths'
}

/** The health check of a live plugin, with the events that it could not take. One that has none is healthy while it runs. */
export function healthOf(plugin: LivePlugin): () => Promise<readonly ComponentHealth[]> {
  const { id, kind, essential = false } = plugin.found.manifest
  return async () => [
    ...((await plugin.instance.health?.()) ?? [
      { name: id, kind, status: 'ok' as const, detail: 'running', required: essential },
    ]),
    ...plugin.subscriptions.flatMap((subscription) => subscription.health()),
  ]
}

/** Its routes while it is exchanged for a copy that cannot run beside it: all answer 503. */
export function awayRoutes({ found, routes: set }: LivePlugin): RouteSet {
  const { id } = found.manifest
  const refuse = async (): Promise<never> => {
    throw notReady(`the plugin ${id} is being exchanged; try again in a few seconds`, { retryAfterS: 1 })
  }
  const routes = set.routes.map((route): Route => ({ ...route, handle: refuse }))
  return { ...set, routes, retiring: new AbortController().signal }
}

/** Lets a copy go that another has replaced, when its last requests are over. */
export async function retire(before: LivePlugin, drained: Promise<void>): Promise<void> {
  const quiet = before.quiesce('upgrade')
  before.retire()
  await Promise.all([quiet, drained])
  await before.leave('upgrade')
}

/** Whether the copy before has to leave before the next one comes. */
export function isExclusive(running: FoundPlugin, next: FoundPlugin): boolean {
  return running.manifest.handover === 'exclusive' || next.manifest.handover === 'exclusive'
}

/** Owns everything that one live copy of a plugin opens. */
interface Scope {
  /** Fires when the plugin's routes are withdrawn. */
  readonly retiring: AbortSignal
  /** Runs at `close`, newest first; at once when the scope is closed already. */
  defer(step: () => void | Promise<void>): void
  /** Fires `retiring`. */
  retire(): void
  /** Retires, then runs the deferred steps, each bounded; one that fails is logged and the rest goes on. */
  close(): Promise<void>
}

/** How long one deferred step may take. */
const DEFERRED_BOUND_MS = 5_000

export function createScope(timers: Timers, log: Log): Scope {
  const leaving = new AbortController()
  const steps: (() => void | Promise<void>)[] = []
  let isClosed = false

  const run = async (step: () => void | Promise<void>): Promise<void> => {
    try {
      await within(timers, DEFERRED_BOUND_MS, 'a deferred step', async () => await step())
    } catch (error) {
      log.error({ err: error }, 'deferred step failed')
    }
  }

  return {
    retiring: leaving.signal,
    defer: (step) => {
      if (isClosed) void run(step)
      else steps.push(step)
    },
    retire: () => leaving.abort(),
    close: async () => {
      leaving.abort()
      isClosed = true
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) await run(step)
    },
  }
}

/** What one copy of a plugin is made of. `used` collects the services that it asks for, `subscriptions` what it hears of. */
interface Parts {
  readonly host: PluginHost
  readonly found: FoundPlugin
  readonly plugin: Plugin
  readonly config: unknown
  readonly log: Log
  readonly scope: Scope
  readonly scheduler: Scheduler
  readonly metrics: PluginMetrics
  readonly used: Set<string>
  readonly subscriptions: Subscription[]
}

/** What one copy of a plugin gets at setup. */
function createContext(parts: Parts): Context {
  const { host, found, config, log, scope, scheduler, metrics, used, subscriptions } = parts
  const { id } = found.manifest
  return {
    plugin: { id, version: found.version },
    config,
    get settings() {
      return host.settings.current()
    },
    secret: (key) => host.secrets.read(found.section, key),
    log,
    db: host.db.scoped(id),
    metrics: metrics.metrics,
    clock: host.clock,
    retiring: scope.retiring,
    defer: (step) => scope.defer(step),
    every: (everyMs, task, runs) => scheduler.every(everyMs, task, runs),
    onSettings: (listener) => scope.defer(host.settings.onChange(listener)),
    on: (type, handler, runs = 'leader') => {
      const request = { plugin: id, type, handler, runs, retiring: scope.retiring }
      subscriptions.push(host.events.open(request, host.reconciler.enqueue))
    },
    onChange: (ref, handler) => {
      const told = async (): Promise<void> => await handler(host.services.maybe(ref))
      const listener = (ids: ReadonlySet<string>): void => {
        if (!ids.has(ref.id)) return
        told().catch((error: unknown) =>
          log.error({ service: ref.id, err: error }, 'change of a service could not be handled'),
        )
      }
      scope.defer(host.services.onChange(listener))
    },
    changed: (ref) => host.services.changed(id, ref.id),
    healthChanged: () => host.health.look(id),
    use: <T extends object>(ref: ServiceRef<T>): T => {
      used.add(ref.id)
      return host.services.use(ref)
    },
    maybe: <T extends object>(ref: ServiceRef<T>): T | undefined => host.services.maybe(ref),
    // As above: the ref names the type of what is provided under its id.
    provider: <T extends object>(ref: ServiceRef<T>): T | undefined =>
      host.services.current(ref.id) as T | undefined,
    enqueue: (resource, key, isUrgent) =>
      host.reconciler.enqueue(resource, key, isUrgent, host.tracing?.current()),
    observe: (work) => host.mutations.observe(id, work),
    mutate: async (principal, action, target, work) => {
      await host.mutations.run({
        principal,
        action,
        target,
        owner: id,
        work: async (tx) => {
          await work(tx)
          return { status: 204 }
        },
      })
    },
  }
}
