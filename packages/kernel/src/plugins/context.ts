import type { Context, Log, ServiceRef } from '@steeple/contracts'
import type { Subscription } from '../mutation/subscriptions.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { Scheduler } from '../reconcile/scheduler.ts'
import type { PluginMetrics } from '../telemetry/metrics.ts'
import type { PluginHost } from './host.ts'
import type { Scope } from './scope.ts'

/** What a context is made of. `used` collects the services that the plugin asks for, `subscriptions` what it hears of. */
export interface ContextParts {
  readonly host: PluginHost
  readonly found: FoundPlugin
  readonly config: unknown
  readonly log: Log
  readonly scope: Scope
  readonly scheduler: Scheduler
  readonly metrics: PluginMetrics
  readonly used: Set<string>
  readonly subscriptions: Subscription[]
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
  subscriptions,
}: ContextParts): Context {
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
          return { status: NO_CONTENT }
        },
      })
    },
  }
}
