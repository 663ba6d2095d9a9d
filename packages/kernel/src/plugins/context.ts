import type { Context, Log, ServiceRef } from '@steeple/contracts'
import type { PluginMetrics } from '../metrics.ts'
import type { Scheduler } from '../scheduler.ts'
import type { PluginHost } from './host.ts'
import type { FoundPlugin } from './manifest.ts'
import type { Scope } from './scope.ts'

/** What a context is made of. `used` collects the services that the plugin asks for. */
export interface ContextParts {
  readonly host: PluginHost
  readonly found: FoundPlugin
  readonly config: unknown
  readonly log: Log
  readonly scope: Scope
  readonly scheduler: Scheduler
  readonly metrics: PluginMetrics
  readonly used: Set<string>
}

/** The audited work of a plugin answers nobody. */
const NO_CONTENT = 204

/** What one copy of a plugin gets at setup. */
export function createContext({
  host,
  found,
  config,
  log,
  scope,
  scheduler,
  metrics,
  used,
}: ContextParts): Context {
  const { id } = found.manifest
  return {
    plugin: { id, version: found.version },
    config,
    get settings() {
      return host.settings.current()
    },
    log,
    db: host.db.scoped(id),
    metrics: metrics.metrics,
    clock: host.clock,
    retiring: scope.retiring,
    defer: (step) => scope.defer(step),
    every: (everyMs, task) => scheduler.every(everyMs, task),
    onSettings: (listener) => scope.defer(host.settings.onChange(listener)),
    use: <T extends object>(ref: ServiceRef<T>): T => {
      used.add(ref.id)
      return host.services.use(ref)
    },
    maybe: <T extends object>(ref: ServiceRef<T>): T | undefined => host.services.maybe(ref),
    enqueue: (resource, key) => host.reconciler.enqueue(resource, key),
    mutate: async (principal, action, target, work) => {
      await host.mutations.run({
        principal,
        action,
        target,
        owner: id,
        work: async (tx) => {
          await work(tx)
          return { status: NO_CONTENT }
        },
      })
    },
  }
}
