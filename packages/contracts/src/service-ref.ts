/** Names a service and its type. Two refs with the same id are the same service. */
export interface ServiceRef<T extends object> {
  readonly id: string
  /** What its object must have at run time: see `ServiceShape`. */
  readonly shape?: Readonly<Record<string, string>>
  /** Never set; carries the type. */
  readonly type?: T
}

type TypeName<V> = [V] extends [(...args: never[]) => unknown]
  ? 'function'
  : [V] extends [string]
    ? 'string'
    : [V] extends [number]
      ? 'number'
      : [V] extends [boolean]
        ? 'boolean'
        : 'object'

/** `typeof` of every member of a service; with a `?` behind it for one that may be absent. */
export type ServiceShape<T> = {
  readonly [K in keyof T]-?: undefined extends T[K]
    ? `${TypeName<Exclude<T[K], undefined>>}?`
    : TypeName<T[K]>
}

/**
 * Declares a service: `serviceRef<Greeter>('hello.greeter', { greet: 'function' })`. With a shape, an object that lacks
 * a part of it is refused when its plugin is loaded, and not at the first call.
 */
export function serviceRef<T extends object>(id: string, shape?: ServiceShape<T>): ServiceRef<T> {
  return { id, ...(shape === undefined ? {} : { shape }) }
}

/** What an object lacks of a shape, in words; undefined when it has all of it. */
export function shapeProblem(shape: ServiceRef<object>['shape'], service: unknown): string | undefined {
  const isObject = (typeof service === 'object' && service !== null) || typeof service === 'function'
  if (!isObject) return `is ${service === null ? 'null' : typeof service} and no object`
  const wrong = Object.entries(shape ?? {}).flatMap(([name, type]) => {
    const given = typeof Reflect.get(service, name)
    if (given === type.replace('?', '') || (given === 'undefined' && type.endsWith('?'))) return []
    return [given === 'undefined' ? `${name} (${type})` : `${name} (${type}, not ${given})`]
  })
  return wrong.length === 0 ? undefined : `lacks ${wrong.join(', ')}`
}
