import type { Endpoint } from './endpoint.ts'

/** Longest path parameter; longer ones are nobody's id. */
export const MAX_PARAM_CHARS = 512

/** The segments of a path or pattern. */
type Segments = readonly string[]

/** Which methods and plugins belong to a path that no route serves as asked. Read on refusals only. */
export interface RouteMemory {
  /** Notes the routes that serve now, and that those before them once did. */
  serve(endpoints: readonly Endpoint[]): void
  /** Methods that the path has now, sorted. Empty: no such path. */
  methodsOf(path: string): readonly string[]
  /** The plugin that served this once and is not here any more. */
  withdrawn(method: string, path: string): string | undefined
  /** Whether any live route lies under the prefix. */
  hasUnder(prefix: string): boolean
}

/** A memory of patterns and plugin ids; it keeps no code of a plugin alive. */
export function createRouteMemory(): RouteMemory {
  const seen = new Map<
    string,
    { readonly method: string; readonly segments: Segments; readonly plugin: string }
  >()
  let live = new Map<
    string,
    { readonly method: string; readonly path: string; readonly segments: Segments }
  >()
  return {
    serve: (endpoints) => {
      live = new Map()
      for (const { route, plugin } of endpoints) {
        const key = `${route.method} ${route.path}`
        const segments = route.path.split('/')
        live.set(key, { method: route.method, path: route.path, segments })
        seen.set(key, { method: route.method, segments, plugin })
      }
    },
    methodsOf: (path) => {
      const asked = path.split('/')
      const methods = new Set<string>()
      for (const { method, segments } of live.values()) {
        if (!fits(segments, asked)) continue
        methods.add(method)
        if (method === 'GET') methods.add('HEAD')
      }
      return [...methods].sort()
    },
    withdrawn: (method, path) => {
      const asked = path.split('/')
      for (const [key, route] of seen) {
        if (!live.has(key) && route.method === method && fits(route.segments, asked)) return route.plugin
      }
      return undefined
    },
    hasUnder: (prefix) =>
      [...live.values()].some(({ path }) => path === prefix || path.startsWith(`${prefix}/`)),
  }
}

/** Whether the segments of a path are those of a pattern. */
export function fits(pattern: Segments, asked: Segments): boolean {
  if (pattern.length !== asked.length) return false
  return pattern.every((part, index) => {
    const given = asked[index] ?? ''
    return part === given || (part.startsWith(':') && given !== '' && given.length <= MAX_PARAM_CHARS)
  })
}
