import type { Context, Labels, Log, Metrics } from '@steeple/contracts'
import { pluginIsolation, serviceRef } from '@steeple/contracts'
import type { ServiceContainer } from '../service-container.ts'
import { LOG_LEVELS } from './child-log.ts'
import type { CallHandler, TellHandler } from './peer.ts'
import type { WireMetric, WireService } from './wire.ts'
import { describeService } from './wire-service.ts'

/** Services that stay in the service's own process: what they give is not for a process without the store. */
const OWN_SERVICES = new Set(['kernel.vault'])

/** What a child may ask for or say, before and after it has a context. */
export interface ParentHandlers {
  readonly calls: Readonly<Record<string, CallHandler>>
  readonly tells: Readonly<Record<string, TellHandler>>
  /** From now on the child acts as the copy with this context. */
  bind(context: Context): void
}

/** Makes the handlers of one plugin; they serve each of its processes in turn. */
export function createParentHandlers(log: Log): ParentHandlers {
  let bound: Context | undefined
  let updates = new Map<string, (value: number, labels: Labels) => void>()
  const context = (): Context => {
    if (bound === undefined) throw pluginIsolation('the plugin is not being set up yet')
    return bound
  }
  return {
    bind: (given) => {
      bound = given
      updates = new Map()
    },
    calls: {
      use: async ([id, method, ...args]) => {
        const service = context().maybe(serviceRef<object>(named(id)))
        const member: unknown = service === undefined ? undefined : Reflect.get(service, named(method))
        if (typeof member !== 'function' || OWN_SERVICES.has(named(id))) {
          throw pluginIsolation(`the service ${named(id)} has no method ${named(method)} for other processes`)
        }
        const result: unknown = await Reflect.apply(member, service, args)
        return result
      },
    },
    tells: {
      log: ([level, facts, message]) => {
        const known = LOG_LEVELS.find((one) => one === level) ?? 'info'
        ;(bound?.log ?? log)[known](typeof facts === 'object' && facts !== null ? facts : {}, named(message))
      },
      metric: ([metric]) => applyMetric(context().metrics, updates, metric as WireMetric),
      enqueue: ([resource, key]) => context().enqueue(named(resource), named(key)),
      used: ([id]) => void context().use(serviceRef(named(id))),
    },
  }
}

/** The services that a child may call, as they stand. */
export function visibleServices(services: ServiceContainer): readonly WireService[] {
  return services
    .ids()
    .filter((id) => !OWN_SERVICES.has(id))
    .flatMap((id) => {
      const service = services.current(id)
      return service === undefined ? [] : [describeService(id, service)]
    })
}

function named(value: unknown): string {
  if (typeof value !== 'string') throw pluginIsolation('a name must be a text')
  return value
}

function applyMetric(
  metrics: Metrics,
  updates: Map<string, (value: number, labels: Labels) => void>,
  metric: WireMetric,
): void {
  if (metric.op === 'update') updates.get(metric.name)?.(metric.value, metric.labels)
  else updates.set(metric.name, declared(metrics, metric))
}

function declared(
  metrics: Metrics,
  { kind, name, help, labels, buckets }: Extract<WireMetric, { op: 'declare' }>,
): (value: number, labels: Labels) => void {
  switch (kind) {
    case 'counter': {
      const counter = metrics.counter(name, help, labels)
      return (value, of) => counter.inc(of, value)
    }
    case 'gauge': {
      const gauge = metrics.gauge(name, help, labels)
      return (value, of) => gauge.set(value, of)
    }
    case 'histogram': {
      const histogram = metrics.histogram(name, help, buckets, labels)
      return (value, of) => histogram.observe(value, of)
    }
    default:
      return kind satisfies never
  }
}
