import type { Instance, JsonSchema, Manifest, Plugin, Reconciler, Route } from '@steeple/contracts'
import { within } from '../deadline.ts'
import type { PluginMetrics } from '../metrics.ts'
import { createScheduler, type Scheduler } from '../scheduler.ts'
import type { PluginCode } from './code.ts'
import { createContext } from './context.ts'
import type { RouteSet } from './edge.ts'
import type { PluginHost } from './host.ts'
import type { FoundPlugin } from './manifest.ts'
import { createScope, type Scope } from './scope.ts'

/** Why a copy leaves. */
export type LeaveReason = 'unload' | 'upgrade' | 'shutdown'

/** One copy of a plugin that was set up. */
export interface LivePlugin {
  readonly found: FoundPlugin
  readonly code: PluginCode
  /** Its configuration when it was set up. */
  readonly config: unknown
  readonly instance: Instance
  readonly routes: RouteSet
  readonly reconcilers: readonly Reconciler[]
  readonly services: ReadonlyMap<string, object>
  readonly metrics: PluginMetrics
  /** Services of others that it has asked for. */
  readonly used: ReadonlySet<string>
  /** Begins its work. Bounded. */
  start(): Promise<void>
  /** Fires its retiring signal. */
  retire(): void
  /** After its routes are withdrawn and drained: stop, then the deferred steps. Never throws. */
  leave(why: LeaveReason): Promise<void>
}

/** Bound on a plugin's setup, start and on the import of its module. */
export const STEP_BOUND_MS = 10_000
/** Bound on a plugin's stop. */
const STOP_BOUND_MS = 5_000

/** Sets a copy up. When that fails or takes too long, what it opened is closed and the error is thrown. */
export async function setUp(
  host: PluginHost,
  found: FoundPlugin,
  code: PluginCode,
  config: unknown,
): Promise<LivePlugin> {
  const { id } = found.manifest
  const log = host.logOf(id)
  const scope = createScope(host.timers, log)
  const scheduler = createScheduler({ timers: host.timers, log })
  const metrics = host.metrics.open(id)
  const used = new Set<string>()
  scope.defer(() => metrics.withdraw())
  scope.defer(() => scheduler.close())
  const context = createContext({ host, found, config, log, scope, scheduler, metrics, used })
  let isLate = false
  try {
    const begun = begin(code.plugin, context)
    begun.then(
      async (instance) => {
        if (isLate) await stopLate(instance, host)
      },
      () => undefined,
    )
    const instance = await within(host.timers, STEP_BOUND_MS, 'its setup', () => begun)
    const problem = problemOf(found.manifest, instance)
    if (problem !== undefined) throw new TypeError(problem)
    return liveOf(host, { found, code, config, instance, scope, scheduler, metrics, used })
  } catch (error) {
    isLate = true
    await scope.close()
    throw error
  }
}

async function begin(plugin: Plugin, context: Parameters<Plugin['setup']>[0]): Promise<Instance> {
  return await plugin.setup(context)
}

/** A setup that came to an end after nobody waited any more: its scope is closed, only its stop is left. */
async function stopLate(instance: Instance, host: PluginHost): Promise<void> {
  try {
    await within(host.timers, STOP_BOUND_MS, 'its stop', async () => await instance.stop?.('unload'))
  } catch (error) {
    host.log.warn({ err: error }, 'plugin that was set up too late did not stop')
  }
}

interface Parts {
  readonly found: FoundPlugin
  readonly code: PluginCode
  readonly config: unknown
  readonly instance: Instance
  readonly scope: Scope
  readonly scheduler: Scheduler
  readonly metrics: PluginMetrics
  readonly used: ReadonlySet<string>
}

function liveOf(host: PluginHost, parts: Parts): LivePlugin {
  const { found, code, config, instance, scope, scheduler, metrics, used } = parts
  const { id } = found.manifest
  return {
    found,
    code,
    config,
    instance,
    metrics,
    used,
    routes: {
      plugin: id,
      routes: instance.routes ?? [],
      retiring: scope.retiring,
      isInstalled: found.origin === 'installed',
    },
    reconcilers: instance.reconcilers ?? [],
    services: instance.services ?? new Map(),
    start: async () => {
      await within(host.timers, STEP_BOUND_MS, 'its start', async () => await instance.start?.())
      scheduler.start()
    },
    retire: () => scope.retire(),
    leave: async (why) => {
      scope.retire()
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
  const declared = new Set(manifest.provides)
  const given = new Set(instance.services?.keys())
  for (const id of given)
    if (!declared.has(id)) return `it provides ${id}, which steeple.provides does not name`
  for (const id of declared)
    if (!given.has(id)) return `steeple.provides names ${id}, which setup does not give`
  for (const route of instance.routes ?? []) {
    const problem = routeProblem(route)
    if (problem !== undefined) return `route ${String(route.method)} ${String(route.path)} ${problem}`
  }
  return undefined
}

/** The type checker asks for all of it; a plugin in plain JavaScript was never asked. */
function routeProblem(route: Route): string | undefined {
  if (typeof route.path !== 'string' || !route.path.startsWith('/')) return 'has no path'
  if (typeof route.handle !== 'function') return 'has no handler'
  if (typeof route.role !== 'string') return 'names no role'
  if (route.method !== 'GET' && route.audit === undefined) return 'names no audit action'
  return undefined
}

/** The schema of a plugin's configuration, when it has its own. */
export function configSchemaOf(code: PluginCode): JsonSchema | undefined {
  return code.plugin.config
}
