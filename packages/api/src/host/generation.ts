import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { notReady, pluginFailed, type Route } from '@steeple/contracts'
import type { EdgeGeneration, RouteSet } from '@steeple/kernel'
import type { FastifyInstance } from 'fastify'
import type { EdgeCore } from '../edge-core.ts'
import { addRoute, createApp } from '../pipeline/pipeline.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { compileSchemas, compilesNow, type Endpoint, endpointFrom, nameOf, schemasOf } from './endpoint.ts'

/** Longest time that a build holds the event loop at a stretch. */
const SLICE_MS = 8

/**
 * Builds the generation that serves `sets`. Changes nothing.
 *
 * Schemas are compiled once per schema object: those of the build when they are first needed, the others in slices of a few
 * ms, so that a large set does not stall the requests being served. Throws `plugin_failed` for a duplicate route or a schema
 * that does not compile.
 */
export async function buildGeneration(sets: readonly RouteSet[], core: EdgeCore): Promise<Generation> {
  refuseDuplicates(sets)
  core.checks.renew()
  await compileInSlices(sets, core)
  const endpoints = sets.flatMap((set) => set.routes.map((route) => endpointFrom(route, set, core)))
  const generation = new Generation(sets, endpoints)
  await generation.open(core)
  return generation
}

async function compileInSlices(sets: readonly RouteSet[], core: EdgeCore): Promise<void> {
  let sliceEndMs = performance.now() + SLICE_MS
  for (const set of sets.filter((one) => compilesNow(one, core))) {
    for (const route of set.routes) {
      if (!schemasOf(route).some(([source, schema]) => core.checks.isNew(source, schema))) continue
      if (performance.now() >= sliceEndMs) {
        await nextTurn()
        sliceEndMs = performance.now() + SLICE_MS
      }
      compileSchemas(route, set, core)
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

/** One built set of routes: a fastify instance that never listens, and the requests that it serves. */
export class Generation implements EdgeGeneration {
  readonly sets: readonly RouteSet[]
  readonly endpoints: readonly Endpoint[]
  #app: FastifyInstance | undefined
  /**
   * Not a Set: one that is always added to and deleted from leaves its outgrown tables behind, each of which refers to the
   * next, so that once one of them is old the collector takes every later request for one that is in use.
   */
  readonly #open: RequestContext[] = []
  /** Plugins of this set that no set after it has. Empty while this one serves. */
  readonly #leaving = new Set<AbortSignal>()
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(sets: readonly RouteSet[], endpoints: readonly Endpoint[]) {
    this.sets = sets
    this.endpoints = endpoints
  }

  /** Makes it ready to serve. */
  async open(core: EdgeCore): Promise<void> {
    this.#app = await createApp(core, this)
    for (const endpoint of this.endpoints) addRoute(this.#app, endpoint)
    await this.#app.ready()
  }

  /** Hands a request to its route. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    this.#app?.routing(incoming, outgoing)
  }

  /** Counts a request in until it is over; the edge's own routes do not belong to a generation. */
  enter(context: RequestContext): void {
    if (context.endpoint === undefined || context.endpoint.isSystem) return
    context.generation = this
    context.place = this.#open.push(context) - 1
    context.onOver(() => this.#leave(context))
  }

  #leave(context: RequestContext): void {
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
    await this.#app?.close()
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
    context.reply.send(notReady('the plugin that served this was withdrawn; try again', { retryAfterS: 1 }))
  }
}
