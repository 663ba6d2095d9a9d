import type { ComponentHealth, Context, Log, ServiceRef } from '@steeple/contracts'
import { type Timers, within } from '../clock/deadline.ts'
import type { HealthPoller } from '../health.ts'
import type { Subscription } from '../mutation/outbox.ts'
import type { Catalogue } from '../plugin-packages/catalogue.ts'
import type { FoundPlugin } from '../plugin-packages/manifest.ts'
import type { Scheduler } from '../reconcile/scheduler.ts'
import type { PluginMetrics } from '../telemetry/metrics.ts'
import type { PluginHost } from './host.ts'

/** The component that names installed plugins which run and whose signature is not believed. */
const NAME = 'plugins.trust'

/**
 * Has the health name what runs without the signature of somebody in `plugins.trust`: `ok` what was let in on purpose, `degraded`
 * what no start would load again.
 */
export function reportTrust(
  health: HealthPoller,
  catalogue: Catalogue,
  running: readonly FoundPlugin[],
): void {
  const installed = running.filter(({ origin }) => origin === 'installed')
  const refused = installed.flatMap((found) => {
    const { id } = found.manifest
    const rejected = catalogue.rejected(id, found.version)
    return rejected?.dir === found.dir ? [`${id} ${found.version} (${rejected.reason})`] : []
  })
  const unsigned = installed.filter((found) => isUnsigned(found, catalogue)).map(named)
  if (refused.length + unsigned.length === 0) {
    health.forget(NAME)
    return
  }
  const parts = [
    ...(refused.length === 0 ? [] : [`runs, and the next start would not load it: ${refused.join(', ')}`]),
    ...(unsigned.length === 0
      ? []
      : [`runs without a signature of plugins.trust, let in by --allow-unsigned: ${unsigned.join(', ')}`]),
  ]
  const component: ComponentHealth = {
    name: NAME,
    kind: 'feature',
    status: refused.length === 0 ? 'ok' : 'degraded',
    detail: parts.join('; '),
  }
  health.report(NAME, [component])
}

/** By what lies there now: a key may have become trusted since it was loaded. What is gone is as it was. */
function isUnsigned({ manifest, dir, signedBy }: FoundPlugin, catalogue: Catalogue): boolean {
  const there = catalogue.versions(manifest.id).find((one) => one.dir === dir)
  if (there !== undefined) return there.signedBy === undefined
  return catalogue.installed(manifest.id).every((one) => one.dir !== dir) && signedBy === undefined
}

function named({ manifest, version }: FoundPlugin): string {
  return `${manifest.id} ${version}`
}

/** Owns everything that one live copy of a plugin opens. */
export interface Scope {
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
const STEP_BOUND_MS = 5_000

export function createScope(timers: Timers, log: Log): Scope {
  const leaving = new AbortController()
  const steps: (() => void | Promise<void>)[] = []
  let isClosed = false

  const run = async (step: () => void | Promise<void>): Promise<void> => {
    try {
      await within(timers, STEP_BOUND_MS, 'a deferred step', async () => await step())
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
