import type { IncomingMessage, ServerResponse } from 'node:http'
import { notReady } from '@steeple/contracts'
import type { EdgeGeneration, RouteSet } from '@steeple/kernel'
import type { FastifyInstance } from 'fastify'
import type { RequestContext } from '../pipeline/request-context.ts'
import { fail } from '../pipeline/serve.ts'
import type { Endpoint } from './endpoint.ts'

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
