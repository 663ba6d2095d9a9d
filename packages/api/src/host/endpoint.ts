import {
  type Access,
  ERROR_CATALOGUE,
  type ErrorCode,
  type JsonSchema,
  type PathGroup,
  pluginFailed,
  ROLES,
  type Route,
} from '@steeple/contracts'
import type { RouteSet } from '@steeple/kernel'
import type { HttpMetrics, RouteMeter } from '../observe/http-metrics.ts'
import type { Check, SchemaChecks, Source } from '../pipeline/schema-checks.ts'

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

/** Contract section 2. */
const DEFAULT_BODY_LIMIT = 1_048_576

/** One route, ready to serve: its checks are compiled, its numbers looked up. */
export interface Endpoint {
  readonly route: Route
  /** The plugin that contributes it; `kernel` for the edge's own. */
  readonly plugin: string
  /** Error codes of that plugin's own. */
  readonly errors: readonly ErrorCode[]
  readonly paths: Readonly<Record<string, PathGroup>>
  readonly retiring: AbortSignal
  /** The edge's own routes outlive every generation: a swap does not wait for them. */
  readonly isSystem: boolean
  readonly isMutating: boolean
  readonly bodyLimit: number
  readonly checkParams: Check | undefined
  readonly checkQuery: Check | undefined
  readonly checkBody: Check | undefined
  /** Only when responses are checked. */
  readonly checkResponse: Check | undefined
  readonly meter: RouteMeter
}

/** Owner of the edge's own routes. */
export const SYSTEM_PLUGIN = 'kernel'

/** What endpoints are made with. */
export interface EndpointParts {
  readonly checks: SchemaChecks
  readonly metrics: HttpMetrics
  readonly checkResponses: boolean
}

/** What a route may ask for. */
const ACCESS: readonly Access[] = ['public', ...ROLES, 'bootstrap']

/**
 * The tests of the build, which check responses too, have compiled every schema of it: a start does not wait for them. Those
 * of an installed plugin nobody has, and one that does not compile keeps it from loading.
 */
export function compilesNow(set: RouteSet, parts: EndpointParts): boolean {
  return parts.checkResponses || set.isInstalled === true
}

/** The schemas of a route and where their values come from, in the order in which they are checked. */
export function schemasOf(route: Route): readonly (readonly [Source, JsonSchema])[] {
  const { params, query, body, response } = route.schema ?? {}
  const pairs: (readonly [Source, JsonSchema | undefined])[] = [
    ['url', params],
    ['url', queryFilters(route, query)],
    ['body', body],
    ['body', response],
  ]
  return pairs.filter((pair): pair is readonly [Source, JsonSchema] => pair[1] !== undefined)
}

/** The endpoint of a route. Throws `plugin_failed` when a schema does not compile or the route is not well formed. */
export function endpointFrom(route: Route, set: RouteSet, parts: EndpointParts): Endpoint {
  const { params, query, body, response } = route.schema ?? {}
  const isNow = compilesNow(set, parts)
  const compiled = <T>(schema: JsonSchema | undefined, part: string, compile: (schema: JsonSchema) => T) => {
    if (schema === undefined) return undefined
    try {
      return compile(schema)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown'
      throw pluginFailed(set.plugin, 'routes', `${part} schema of ${nameOf(route)}: ${why}`, { cause })
    }
  }
  const check = (source: Source, schema: JsonSchema | undefined, part: string): Check | undefined =>
    compiled(schema, part, (one) => parts.checks[isNow ? 'check' : 'checkLater'](source, one))
  refuseMalformed(route, set)
  if (set.isInstalled === true && !parts.checkResponses)
    compiled(response, 'response', (schema) => parts.checks.prove('body', schema))
  return {
    route,
    plugin: set.plugin,
    errors: set.errors ?? [],
    paths: set.paths ?? {},
    retiring: set.retiring,
    isSystem: set.plugin === SYSTEM_PLUGIN,
    isMutating: route.method !== 'GET',
    bodyLimit: route.bodyLimit ?? DEFAULT_BODY_LIMIT,
    checkParams: check('url', params, 'params'),
    checkQuery: check('url', queryFilters(route, query), 'query'),
    checkBody: check('body', body, 'body'),
    checkResponse: parts.checkResponses ? check('body', response, 'response') : undefined,
    meter: parts.metrics.meter(route.method, route.path),
  }
}

/** `GET /v1/nodes/:id`. */
export function nameOf(route: Route): string {
  return `${route.method} ${route.path}`
}

/** A list route may spell `limit` and `cursor` in its query schema; the edge checks those two itself. */
function queryFilters(route: Route, query: JsonSchema | undefined): JsonSchema | undefined {
  return route.paged === true && query === undefined ? undefined : query
}

function refuseMalformed(route: Route, { plugin, errors = [] }: RouteSet): void {
  if (!route.path.startsWith('/') || route.path.includes('*')) {
    throw pluginFailed(plugin, 'routes', `${nameOf(route)}: a path begins with / and holds no *`)
  }
  if (!ACCESS.includes(route.role)) {
    const problem = `there is no role ${String(route.role)}; one of ${ACCESS.join(', ')} can be asked for`
    throw pluginFailed(plugin, 'routes', `${nameOf(route)}: ${problem}`)
  }
  if (route.method !== 'GET' && route.audit === undefined) {
    throw pluginFailed(plugin, 'routes', `${nameOf(route)}: a mutating route names its audit action`)
  }
  const catalogue = [...ERROR_CATALOGUE, ...errors]
  const known = catalogue.map(({ code }) => code)
  const unknown = route.errors?.filter((code) => !known.includes(code)) ?? []
  if (unknown.length > 0) {
    const problem = `no such error codes: ${unknown.join(', ')}; steeple.errors of its package.json declares its own`
    throw pluginFailed(plugin, 'routes', `${nameOf(route)}: ${problem}`)
  }
  if (route.method !== 'GET' && route.guarded === true && !refusesStale(route, catalogue)) {
    const problem =
      'a guarded route names the code, of status 409 or 412, that a stale If-Match is refused with'
    throw pluginFailed(plugin, 'routes', `${nameOf(route)}: ${problem}`)
  }
}

function refusesStale(route: Route, catalogue: readonly Pick<ErrorCode, 'code' | 'status'>[]): boolean {
  return catalogue.some(
    ({ code, status }) => (status === 409 || status === 412) && route.errors?.includes(code) === true,
  )
}
