import {
  type Context,
  type Db,
  type Log,
  type Metrics,
  pluginDependencyMissing,
  pluginIsolation,
  type ServiceRef,
  type Settings,
} from '@steeple/contracts'
import { problemOfName } from '../../metric-names.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { Scope } from '../scope.ts'
import type { Peer } from './peer.ts'
import type { WireMetric, WireService, WireSetup } from './wire.ts'
import { serviceFrom } from './wire-service.ts'

/** What of the service the process knows; the parent keeps it up to date. */
export interface ParentView {
  settings: unknown
  services: ReadonlyMap<string, WireService>
  readonly listeners: Set<() => void>
}

/** What the context of a child is made of. */
export interface ChildParts {
  readonly view: ParentView
  readonly peer: Peer
  readonly log: Log
  readonly scope: Scope
  readonly scheduler: Scheduler
}

/** The context of a plugin that runs in a process of its own. Whatever needs the store is refused. */
export function createChildContext(
  { id, version, config }: WireSetup,
  { view, peer, log, scope, scheduler }: ChildParts,
): Context {
  const service = <T extends object>(ref: ServiceRef<T>): T | undefined => {
    const description = view.services.get(ref.id)
    if (description === undefined) return undefined
    // The ref names the type of what is provided under its id.
    return serviceFrom(description, (method, args) => peer.call('use', [ref.id, method, ...args])) as T
  }
  return {
    plugin: { id, version },
    config,
    get settings() {
      // The parent sends what its own configuration check let through.
      return view.settings as Settings
    },
    log,
    db: refusing('ctx.db') as Db,
    metrics: childMetrics(id, (metric) => peer.tell('metric', [metric])),
    clock: { nowMs: () => Date.now(), monotonicMs: () => performance.now() },
    retiring: scope.retiring,
    defer: (step) => scope.defer(step),
    every: (everyMs, task) => scheduler.every(everyMs, task),
    onSettings: (listener) => {
      view.listeners.add(listener)
      scope.defer(() => void view.listeners.delete(listener))
    },
    use: <T extends object>(ref: ServiceRef<T>): T => {
      const found = service(ref)
      if (found === undefined) throw pluginDependencyMissing(ref.id)
      peer.tell('used', [ref.id])
      return found
    },
    maybe: service,
    enqueue: (resource, key) => peer.tell('enqueue', [resource, key]),
    mutate: async () => {
      throw noStore('ctx.mutate')
    },
  }
}

function noStore(what: string): Error {
  return pluginIsolation(
    `${what} is not there in a plugin with isolation "process": it has no store; call a service of another plugin`,
  )
}

/** An object each of whose properties is refused with the reason. */
function refusing(what: string): unknown {
  return new Proxy(
    {},
    {
      get: (_, property) => {
        throw noStore(`${what}.${String(property)}`)
      },
    },
  )
}

function childMetrics(id: string, send: (metric: WireMetric) => void): Metrics {
  const declare = (
    kind: 'counter' | 'gauge' | 'histogram',
    name: string,
    help: string,
    labels: readonly string[],
    buckets: readonly number[],
  ): void => {
    const problem = problemOfName(id, name)
    if (problem !== undefined) throw new TypeError(`metric ${name} of ${id} is refused: ${problem}`)
    send({ op: 'declare', kind, name, help, labels, buckets })
  }
  return {
    counter: (name, help, labels = []) => {
      declare('counter', name, help, labels, [])
      return { inc: (of = {}, by = 1) => send({ op: 'update', name, value: by, labels: of }) }
    },
    gauge: (name, help, labels = []) => {
      declare('gauge', name, help, labels, [])
      return { set: (value, of = {}) => send({ op: 'update', name, value, labels: of }) }
    },
    histogram: (name, help, buckets, labels = []) => {
      declare('histogram', name, help, labels, buckets)
      return { observe: (value, of = {}) => send({ op: 'update', name, value, labels: of }) }
    },
  }
}
