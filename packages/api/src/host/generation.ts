import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { notReady, pluginFailed, type Route, validationFailed } from '@steeple/contracts'
import type { EdgeGeneration, RouteSet } from '@steeple/kernel'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import type { RequestContext } from '../pipeline/request-context.ts'
import { fail } from '../pipeline/serve.ts'
import {
  compilesNow,
  type Endpoint,
  type EndpointParts,
  endpointFrom,
  MAX_PARAM_CHARS,
  nameOf,
  schemasOf,
} from './endpoint.ts'

/** Longest time that a build holds the event loop at a stretch. */
const SLICE_MS = 8

/** What happens to the requests that reach a built generation. */
export interface RequestHandler {
  /** A route fits. */
  open(generation: Generation, endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply): void
  /** No route fits, or the URL cannot be read (then with the error to answer). */
  refuse(request: FastifyRequest, reply: FastifyReply, error?: Error): void
}

/**
 * Builds the generation that serves `sets`. Changes nothing.
 *
 * Schemas are compiled once per schema object: those of the build when they are first needed, the others in slices of a few
 * ms, so that a large set does not stall the requests being served. Throws `plugin_failed` for a duplicate route or a schema
 * that does not compile.
 */
export async function buildGeneration(
  sets: readonly RouteSet[],
  parts: EndpointParts,
  handler: RequestHandler,
): Promise<Generation> {
  refuseDuplicates(sets)
  parts.checks.renew()
  await compileInSlices(sets, parts)
  const endpoints = sets.flatMap((set) => set.routes.map((route) => endpointFrom(route, set, parts)))
  const app = bareApp(handler)
  const generation = new Generation(sets, endpoints, app)
  for (const endpoint of endpoints) addRoute(app, endpoint, generation, handler)
  await app.ready()
  return generation
}

function bareApp(handler: RequestHandler): FastifyInstance {
  const app = Fastify({
    logger: false,
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: () => '',
    // What a request has to be is the pipeline's to check: fastify makes no check and no serializer, and loads nothing that would.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    frameworkErrors: (_error, request, reply) => {
      handler.refuse(request, reply, validationFailed('the URL is not correctly encoded'))
    },
  })
  // Of a request that no route fits nothing more is read: fastify would parse its body first.
  app.removeAllContentTypeParsers()
  app.setNotFoundHandler((request, reply) => handler.refuse(request, reply))
  app.setErrorHandler((error, request, reply) => {
    const isStray = request.is404 || !(error instanceof Error)
    handler.refuse(request, reply, isStray ? undefined : error)
  })
  return app
}

/** Asked for where a route has a schema of fastify's. */
function noCompiler(): never {
  throw new Error('routes have no schemas of fastify')
}

function addRoute(
  app: FastifyInstance,
  endpoint: Endpoint,
  generation: Generation,
  handler: RequestHandler,
): void {
  app.route({
    method: endpoint.route.method,
    url: endpoint.route.path,
    // The pipeline takes over before fastify looks at a body: who asks is settled first. `done` is never called.
    onRequest: (request, reply, _done) => handler.open(generation, endpoint, request, reply),
    handler: () => undefined,
  })
}

async function compileInSlices(sets: readonly RouteSet[], parts: EndpointParts): Promise<void> {
  let sliceEndMs = performance.now() + SLICE_MS
  for (const set of sets.filter((one) => compilesNow(one, parts))) {
    for (const route of set.routes) {
      if (!schemasOf(route).some((pair) => parts.checks.isNew(...pair))) continue
      if (performance.now() >= sliceEndMs) {
        await nextTurn()
        sliceEndMs = performance.now() + SLICE_MS
      }
      endpointFrom(route, set, parts)
    }
  }
}

function refuseDuplicates(sets: readonly RouteSet[]): void {
  const owners = new Map<string, string>()
  for (const set of sets) {
    for (const route of set.routes) {
      const key = shapeOf(route)
      const owner = owners.get(key)
      if (owner !== undefined) {
        throw pluginFailed(set.plugin, 'routes', `${nameOf(route)} is already a route of ${owner}`)
      }
      owners.set(key, set.plugin)
    }
  }
}

/** The route with nameless parameters: `/v1/nodes/:id` and `/v1/nodes/:node` are the same. */
function shapeOf(route: Route): string {
  return `${route.method} ${route.path.replaceAll(/:[^/]+/g, ':')}`
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

/** One built set of routes: a fastify instance that never listens, and the requests that it serves. */
export class Generation implements EdgeGeneration {
  readonly sets: readonly RouteSet[]
  readonly endpoints: readonly Endpoint[]
  readonly #app: FastifyInstance
  /**
   * Not a Set: one that is always added to and deleted from leaves its outgrown tables behind, each of which refers to the
   * next, so that once one of them is old the collector takes every later request for one that is in use.
   */
  readonly #open: RequestContext[] = []
  /** Plugins of this set that no set after it has. Empty while this one serves. */
  readonly #leaving = new Set<AbortSignal>()
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(sets: readonly RouteSet[], endpoints: readonly Endpoint[], app: FastifyInstance) {
    this.sets = sets
    this.endpoints = endpoints
    this.#app = app
  }

  /** Hands a request to its route. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    this.#app.routing(incoming, outgoing)
  }

  /** Counts a request in; the edge's own routes do not belong to a generation. */
  enter(context: RequestContext): void {
    if (context.endpoint?.isSystem === true) return
    context.generation = this
    context.place = this.#open.push(context) - 1
  }

  /** Counts a request out, or looks again when it has begun to stream. */
  leave(context: RequestContext): void {
    const last = this.#open.pop()
    if (last !== undefined && last !== context) {
      this.#open[context.place] = last
      last.place = context.place
    }
    this.review()
  }

  /** Looks again whether the drain is over: a request has ended or has begun to stream. */
  review(): void {
    if (this.#waiting.size === 0 || this.#isHeldUp()) return
    for (const over of [...this.#waiting]) over()
  }

  /** Whether streams of plugins that stayed still run here. */
  get isInUse(): boolean {
    return this.#open.length > 0
  }

  /**
   * Waits until no request needs this generation: every plain request is answered, and every stream of a plugin
   * that leaves has ended. Streams of plugins that stay go on, they run no code that goes away; call it again when
   * another set follows.
   *
   * After `drainMs` the requests of leaving plugins are cut off with 503 `not_ready`.
   */
  async retire(next: Generation | undefined, drainMs: number): Promise<void> {
    const staying = new Set(next?.sets.map((set) => set.retiring))
    for (const { retiring } of this.sets) if (!staying.has(retiring)) this.#leaving.add(retiring)
    if (this.#isHeldUp()) await this.#drain(drainMs)
    for (const context of this.#open.filter((one) => this.#leaves(one))) cutOff(context)
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#app.close()
  }

  async #drain(drainMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const bound = setTimeout(resolve, drainMs)
    this.#waiting.add(resolve)
    await promise
    clearTimeout(bound)
    this.#waiting.delete(resolve)
  }

  #isHeldUp(): boolean {
    return this.#open.some((context) => !context.isStreaming || this.#leaves(context))
  }

  #leaves(context: RequestContext): boolean {
    const { endpoint } = context
    return endpoint !== undefined && this.#leaving.has(endpoint.retiring)
  }
}

function cutOff(context: RequestContext): void {
  if (context.outgoing.headersSent) context.outgoing.destroy()
  else {
    fail(context, notReady('the plugin that served this was withdrawn; try again', { retryAfterS: 1 }))
  }
}
