import type { IncomingMessage } from 'node:http'
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
import type { EdgeCore } from '../edge-core.ts'
import type { RouteMeter } from '../observe/http-metrics.ts'
import type { Check, Source } from '../pipeline/schema-checks.ts'

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

/** One route, ready to serve: its numbers are looked up. */
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
  /** Only when responses are checked. */
  readonly checkResponse: Check | undefined
  readonly meter: RouteMeter
}

/** Owner of the edge's own routes. */
export const SYSTEM_PLUGIN = 'kernel'

/** What a route may ask for. */
const ACCESS: readonly Access[] = ['public', ...ROLES, 'bootstrap']

/**
 * The tests of the build, which check responses too, have compiled every schema of it: a start does not wait for them. Those
 * of an installed plugin nobody has, and one that does not compile keeps it from loading.
 */
export function compilesNow(set: RouteSet, { checkResponses }: EdgeCore): boolean {
  return checkResponses || set.isInstalled === true
}

/** The schemas of a route: where their values come from, and what part of it they are of. */
export function schemasOf(
  route: Route,
): readonly (readonly [source: Source, schema: JsonSchema, part: string])[] {
  const { params, query, body, response } = route.schema ?? {}
  const all: readonly (readonly [Source, JsonSchema | undefined, string])[] = [
    ['url', params, 'params'],
    ['url', query, 'query'],
    ['body', body, 'body'],
    ['body', response, 'response'],
  ]
  return all.filter((one): one is readonly [Source, JsonSchema, string] => one[1] !== undefined)
}

/** Compiles the schemas of a route. Throws `plugin_failed` when one does not compile. */
export function compileSchemas(
  route: Route,
  { plugin }: RouteSet,
  { checks, checkResponses }: EdgeCore,
): void {
  for (const [source, schema, part] of schemasOf(route)) {
    try {
      checks[part === 'response' && !checkResponses ? 'prove' : 'check'](source, schema)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : 'unknown'
      throw pluginFailed(plugin, 'routes', `${part} schema of ${nameOf(route)}: ${why}`, { cause })
    }
  }
}

/** The endpoint of a route. Throws `plugin_failed` when the route is not well formed. */
export function endpointFrom(
  route: Route,
  set: RouteSet,
  { checks, checkResponses, metrics }: EdgeCore,
): Endpoint {
  refuseMalformed(route, set)
  const response = checkResponses ? route.schema?.response : undefined
  return {
    route,
    plugin: set.plugin,
    errors: set.errors ?? [],
    paths: set.paths ?? {},
    retiring: set.retiring,
    isSystem: set.plugin === SYSTEM_PLUGIN,
    isMutating: route.method !== 'GET',
    bodyLimit: route.bodyLimit ?? DEFAULT_BODY_LIMIT,
    checkResponse: response === undefined ? undefined : checks.check('body', response),
    meter: metrics.meter(route.method, route.path),
  }
}

/** The media types that a route takes. JSON is one unless it names others and no schema. */
export function mediaTypesOf({ schema, consumes = [] }: Route): readonly string[] {
  return [...(schema?.body !== undefined || consumes.length === 0 ? ['application/json'] : []), ...consumes]
}

export function acceptedTypes(route: Route): string {
  return mediaTypesOf(route).join(' or ')
}

/** `GET /v1/nodes/:id`. */
export function nameOf(route: Route): string {
  return `${route.method} ${route.path}`
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

/** What addresses of pages look like; none is deeper. */
const ADDRESS = /^(\/[\w~-]+){1,6}$/
/** What looks like another host to some: nothing is ever there, and people are told so by a page. */
const STRAY = /^\/(\/|\\|%5c)/i

/**
 * The endpoint that shows pages without a route (`everyPage`), when that is what is asked for: a browser wants a page, and the first
 * segment of its path is none of a route or of a plugin that is known, or the path begins like another host (`//`). Undefined for
 * all else, which is answered as not found.
 */
export function pageFor(
  { method, url = '/', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  endpoints: readonly Endpoint[],
  features: readonly { readonly prefix: string }[],
): Endpoint | undefined {
  if (method !== 'GET' || !/(^|,)\s*text\/html\s*(;|,|$)/i.test(headers.accept ?? '')) return undefined
  const endpoint = endpoints.find(({ route }) => route.method === 'GET' && route.everyPage === true)
  if (endpoint === undefined) return undefined
  const path = url.replace(/[?#].*/s, '')
  if (STRAY.test(path)) return endpoint
  if (!ADDRESS.test(path)) return undefined
  const [, first] = path.split('/')
  const taken = [...endpoints.map(({ route }) => route.path), ...features.map(({ prefix }) => prefix)]
  return taken.some((one) => one.split('/')[1] === first) ? undefined : endpoint
}
