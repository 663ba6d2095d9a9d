import {
  coreDriverRef,
  hssDriverRef,
  pluginDependencyMissing,
  ranDriverRef,
  type ServiceRef,
} from '@steeple/contracts'
import { currentTerm, mustOutlast, type Term, termSignal } from '../reconcile/leadership.ts'
import type { Tracing } from '../telemetry/tracing.ts'

/** The services of the kernel and of every live plugin, by id. */
export interface ServiceContainer {
  /** Replaces all services of `owner`. Others that hold one of them follow at their next call. */
  set(owner: string, services: ReadonlyMap<string, object>): void
  /** Who provides it now. */
  ownerOf(id: string): string | undefined
  /** A stable object that forwards to whoever provides the service. Throws `plugin_dependency_missing`. */
  use<T extends object>(ref: ServiceRef<T>): T
  /** As `use`, but undefined when nobody provides it now. */
  maybe<T extends object>(ref: ServiceRef<T>): T | undefined
  /** The provider's own object, not a forwarding one. */
  current(id: string): object | undefined
  /** Every id that is provided now. */
  ids(): readonly string[]
  /** The provider says that a service gives other answers than before. Throws `TypeError` when it is not `owner`'s. */
  changed(owner: string, id: string): void
  /** Told which services came, went, were replaced or have changed. Returns what takes the listener away. */
  onChange(listener: (ids: ReadonlySet<string>) => void): () => void
}

/**
 * What changes something beyond the process: done in the name of a term, it begins only while that lasts, with a signal
 * that tells when it is over.
 */
const EFFECTS: ReadonlyMap<string, ReadonlySet<PropertyKey>> = new Map([
  [hssDriverRef.id, new Set(['upsert', 'remove', 'setBlocked', 'cancelLocation'])],
  [coreDriverRef.id, new Set(['apply', 'kick'])],
])

type Method = (...args: readonly unknown[]) => unknown

/** What asks machines outside of this process: in a trace each call is a span of its own. */
const SOUTHBOUND: ReadonlySet<string> = new Set([hssDriverRef.id, coreDriverRef.id, ranDriverRef.id])

/** Makes an empty container. */
export function createServiceContainer(tracing?: Tracing): ServiceContainer {
  const providers = new Map<string, { readonly owner: string; readonly service: object }>()
  const proxies = new Map<string, object>()
  const listeners = new Set<(ids: ReadonlySet<string>) => void>()
  const current = (id: string): object | undefined => providers.get(id)?.service
  const proxyOf = (id: string): object => {
    const known = proxies.get(id)
    if (known !== undefined) return known
    const made = forward(id, () => current(id), SOUTHBOUND.has(id) ? tracing : undefined)
    proxies.set(id, made)
    return made
  }
  const tell = (ids: ReadonlySet<string>): void => {
    if (ids.size === 0) return
    for (const listener of [...listeners]) listener(ids)
  }
  return {
    current,
    ids: () => [...providers.keys()],
    ownerOf: (id) => providers.get(id)?.owner,
    set: (owner, services) => {
      const before = new Map([...providers].filter(([, provider]) => provider.owner === owner))
      for (const id of before.keys()) providers.delete(id)
      const ids = [...before.keys(), ...services.keys()].filter(
        (id) => (before.get(id)?.service ?? current(id)) !== services.get(id),
      )
      for (const [id, service] of services) providers.set(id, { owner, service })
      tell(new Set(ids))
    },
    changed: (owner, id) => {
      const provider = providers.get(id)
      if (provider !== undefined && provider.owner !== owner)
        throw new TypeError(`${owner} does not provide ${id}, so it cannot say that it changed`)
      // A copy that is not served yet, or not any more, has nobody to tell.
      if (provider !== undefined) tell(new Set([id]))
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    use: <T extends object>(ref: ServiceRef<T>): T => {
      if (!providers.has(ref.id)) throw pluginDependencyMissing(ref.id)
      // The ref names the type of what is provided under its id.
      return proxyOf(ref.id) as T
    },
    maybe: <T extends object>(ref: ServiceRef<T>): T | undefined =>
      // As above.
      providers.has(ref.id) ? (proxyOf(ref.id) as T) : undefined,
  }
}

/** A call in the name of a term; its last argument is its signal. Rejects with `not_ready` when that term is over. */
async function fenced(
  term: Term,
  args: readonly unknown[],
  call: (args: readonly unknown[]) => unknown,
): Promise<unknown> {
  mustOutlast(term)
  const signal = args.at(-1)
  return await call(signal instanceof AbortSignal ? [...args.slice(0, -1), termSignal(term, signal)] : args)
}

/** Of the arguments no more than how many things the first one names is told: the rest may be keys of subscribers. */
function southbound(
  tracing: Tracing,
  name: string,
  [first]: readonly unknown[],
  run: () => unknown,
): unknown {
  const attributes = { 'svc.call': name, ...(Array.isArray(first) ? { 'svc.count': first.length } : {}) }
  let given: unknown
  const ended = tracing.span({ name, kind: 'client', attributes }, async () => {
    given = run()
    return await given
  })
  if (given === undefined || given instanceof Promise) return ended
  // A function that asks nobody gives its value at once.
  ended.catch(() => undefined)
  return given
}

/** An object whose properties are those of `target()` at the time of the access. Methods may be taken off it. */
function forward(id: string, target: () => object | undefined, tracing: Tracing | undefined): object {
  const methods = new Map<PropertyKey, Method>()
  const must = (): object => {
    const found = target()
    if (found === undefined) throw pluginDependencyMissing(id)
    return found
  }
  const methodOf = (property: PropertyKey): Method => {
    const known = methods.get(property)
    if (known !== undefined) return known
    const made: Method = (...args) => {
      const service = must()
      // The provider before had a method here; should the present one not, the call fails as any other would.
      const call = (given: readonly unknown[]): unknown =>
        Reflect.apply(Reflect.get(service, property) as Method, service, given)
      const term = EFFECTS.get(id)?.has(property) === true ? currentTerm() : undefined
      const run = (): unknown => (term === undefined ? call(args) : fenced(term, args, call))
      const isTraced = tracing?.isOn === true && tracing.current() !== undefined
      return isTraced ? southbound(tracing, `${id}.${String(property)}`, args, run) : run()
    }
    methods.set(property, made)
    return made
  }
  return new Proxy(Object.create(null) as object, {
    get: (_, property) => {
      // A promise that resolves with the proxy, or a print of it, must not fail because the provider is away.
      if (typeof property === 'symbol' || property === 'then') return undefined
      const service = must()
      const value: unknown = Reflect.get(service, property)
      return typeof value === 'function' ? methodOf(property) : value
    },
    has: (_, property) => Reflect.has(must(), property),
    set: () => false,
    deleteProperty: () => false,
    defineProperty: () => false,
  })
}
