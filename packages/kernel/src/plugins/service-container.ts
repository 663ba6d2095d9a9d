import { pluginDependencyMissing, type ServiceRef } from '@steeple/contracts'

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
  /** Runs after each `set`. Returns what takes the listener away. */
  onChange(listener: () => void): () => void
}

type Method = (...args: readonly unknown[]) => unknown

/** Makes an empty container. */
export function createServiceContainer(): ServiceContainer {
  const providers = new Map<string, { readonly owner: string; readonly service: object }>()
  const proxies = new Map<string, object>()
  const listeners = new Set<() => void>()
  const current = (id: string): object | undefined => providers.get(id)?.service
  const proxyOf = (id: string): object => {
    const known = proxies.get(id)
    if (known !== undefined) return known
    const made = forward(id, () => current(id))
    proxies.set(id, made)
    return made
  }
  return {
    current,
    ids: () => [...providers.keys()],
    ownerOf: (id) => providers.get(id)?.owner,
    set: (owner, services) => {
      for (const [id, provider] of providers) if (provider.owner === owner) providers.delete(id)
      for (const [id, service] of services) providers.set(id, { owner, service })
      for (const listener of listeners) listener()
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

/** An object whose properties are those of `target()` at the time of the access. Methods may be taken off it. */
function forward(id: string, target: () => object | undefined): object {
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
      return Reflect.apply(Reflect.get(service, property) as Method, service, args)
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
