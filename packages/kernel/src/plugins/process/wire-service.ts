import type { WireService } from './wire.ts'

type Method = (...args: readonly unknown[]) => Promise<unknown>

/** What can be said of a service to another process. Values that are no plain data are left out. */
export function describeService(id: string, service: object): WireService {
  const methods: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of namesOf(service)) {
    const value: unknown = Reflect.get(service, name)
    if (typeof value === 'function') methods.push(name)
    else if (isPlain(value)) values[name] = value
  }
  return { id, methods, values }
}

/** An object with these methods, each of which asks `call`; every one of them is async on this side. */
export function serviceFrom(
  description: WireService,
  call: (method: string, args: readonly unknown[]) => Promise<unknown>,
): object {
  const service: Record<string, unknown> = { ...description.values }
  for (const name of description.methods) {
    const method: Method = (...args) => call(name, args)
    service[name] = method
  }
  return service
}

/** Own and inherited names, without those of every object. */
function namesOf(service: object): ReadonlySet<string> {
  const names = new Set<string>()
  for (
    let at: object | null = service;
    at !== null && at !== Object.prototype;
    // The prototype of an object is an object or null.
    at = Object.getPrototypeOf(at) as object | null
  ) {
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name)
  }
  return names
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean', 'bigint'].includes(typeof value)
}
