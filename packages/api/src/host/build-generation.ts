import { setImmediate as nextTurn } from 'node:timers/promises'
import { pluginFailed, type Route, validationFailed } from '@steeple/contracts'
import type { RouteSet } from '@steeple/kernel'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import {
  compilesNow,
  type Endpoint,
  type EndpointParts,
  endpointFrom,
  nameOf,
  schemasOf,
} from './endpoint.ts'
import { Generation } from './generation.ts'
import { MAX_PARAM_CHARS } from './route-memory.ts'

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
