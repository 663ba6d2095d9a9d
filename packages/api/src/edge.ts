import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { notReady, validationFailed } from '@steeple/contracts'
import type { EdgeGeneration, HttpEdge, RouteSet } from '@steeple/kernel'
import type { EdgeCore } from './edge-core.ts'
import type { EdgeKernel } from './edge-kernel.ts'
import { DEFAULT_LIMITS, type EdgeLimits, type EdgeOptions } from './edge-options.ts'
import { buildGeneration, type Doors } from './host/build-generation.ts'
import { SYSTEM_PLUGIN } from './host/endpoint.ts'
import { Generation } from './host/generation.ts'
import { createLines } from './host/line.ts'
import { listenAddressFrom, listenProblem } from './host/listen-address.ts'
import { createServer } from './host/listener.ts'
import { createRouteMemory } from './host/route-memory.ts'
import { finalStatus, logAccess } from './observe/access-log.ts'
import { HttpMetrics } from './observe/http-metrics.ts'
import { createAuthenticate } from './pipeline/authenticate.ts'
import { createCursors } from './pipeline/cursor.ts'
import { createDenials } from './pipeline/denials.ts'
import { Exchange } from './pipeline/exchange.ts'
import { headerProblem } from './pipeline/header-problem.ts'
import { refuseUnmatched } from './pipeline/refuse-unmatched.ts'
import { requestIdFrom } from './pipeline/request-id.ts'
import { createSchemaChecks } from './pipeline/schema-checks.ts'
import { securityHeaders } from './pipeline/security-headers.ts'
import { createSendTogether } from './pipeline/send-together.ts'
import { fail, serve } from './pipeline/serve.ts'
import { systemRoutes } from './system/routes.ts'

/** The HTTP edge: one listener, one set of routes at a time. */
export interface Edge extends HttpEdge {
  /** Opens the port. The edge's own routes answer from here on, plugins' from the first `swap` on. */
  listen(): Promise<AddressInfo>
  /** Where it listens; undefined before `listen` and after `close`. */
  address(): AddressInfo | undefined
  /** Ends event streams, lets requests in flight finish (at most `closeMs`), then closes every connection. */
  close(): Promise<void>
}

/** Makes the edge of a kernel. Nothing listens yet. */
export function createEdge(kernel: EdgeKernel, options: EdgeOptions): Edge {
  return new GenerationHost(kernel, options)
}

class GenerationHost implements Edge {
  readonly #core: EdgeCore
  readonly #kernel: EdgeKernel
  readonly #options: EdgeOptions
  readonly #limits: EdgeLimits
  readonly #metrics = new HttpMetrics()
  readonly #memory = createRouteMemory()
  readonly #checks = createSchemaChecks()
  readonly #shutdown = new AbortController()
  readonly #lineOf = createLines()
  readonly #server: ReturnType<typeof createServer>
  readonly #system: RouteSet
  readonly #connections = new Set<object>()
  /** Generations before the current one that still serve somebody. */
  readonly #past = new Set<Generation>()
  #open = 0
  #idle: (() => void) | undefined
  #current: Generation | undefined

  constructor(kernel: EdgeKernel, options: EdgeOptions) {
    this.#kernel = kernel
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#core = {
      kernel,
      limits: this.#limits,
      metrics: this.#metrics,
      cursors: createCursors(options.cursorSecret),
      denials: createDenials(kernel.clock, this.#limits.denialsPerMinute),
      streams: new Map(),
      authenticate: createAuthenticate(kernel, options.adminToken),
      headers: securityHeaders(options.tls !== undefined),
      running: new Map(),
      send: createSendTogether(),
      shutdown: this.#shutdown.signal,
      isClosing: () => this.#shutdown.signal.aborted,
      settled: (exchange) => this.#settle(exchange),
    }
    this.#server = createServer((...pair) => this.#take(...pair), this.#lineOf, this.#limits, options.tls)
    this.#server.on('connection', (socket) => {
      this.#connections.add(socket)
      socket.once('close', () => this.#connections.delete(socket))
    })
    this.#metrics.openConnections = () => this.#connections.size
    this.#system = {
      plugin: SYSTEM_PLUGIN,
      retiring: this.#shutdown.signal,
      routes: systemRoutes(this.#core, () => this.#current?.endpoints ?? []),
    }
  }

  async build(sets: readonly RouteSet[]): Promise<Generation> {
    const parts = {
      checks: this.#checks,
      metrics: this.#metrics,
      checkResponses: this.#options.checkResponses === true,
    }
    return await buildGeneration([this.#system, ...sets], parts, this.#doors)
  }

  async swap(next: EdgeGeneration): Promise<void> {
    if (!(next instanceof Generation)) throw new TypeError('this generation was built by another edge')
    const old = this.#current
    this.#current = next
    this.#memory.serve(next.endpoints)
    this.#metrics.generations += 1
    if (old === undefined || old === next) return
    this.#past.add(old)
    await Promise.all([...this.#past].map((past) => this.#retire(past, next)))
  }

  async listen(): Promise<AddressInfo> {
    if (this.#current === undefined) await this.swap(await this.build([]))
    const text = this.#options.listen ?? this.#kernel.settings.server.listen
    const address = listenAddressFrom(text)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const fail = (error: Error): void => reject(listenProblem(error, text))
    this.#server.once('error', fail).listen(address, resolve)
    await promise
    this.#server.off('error', fail)
    const bound = this.address()
    if (bound === undefined) throw new Error('the listener has no address')
    return bound
  }

  address(): AddressInfo | undefined {
    const bound = this.#server.address()
    return typeof bound === 'object' && bound !== null ? bound : undefined
  }

  async close(): Promise<void> {
    this.#shutdown.abort()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    if (this.#open > 0) await this.#drained()
    this.#server.closeAllConnections()
    await promise
    await this.#current?.retire(undefined, 0)
    this.#current = undefined
  }

  /** A generation stays known as long as streams of plugins that stayed run on it: they too may leave one day. */
  async #retire(past: Generation, next: Generation): Promise<void> {
    await past.retire(next, this.#limits.drainMs)
    if (!past.isInUse) this.#past.delete(past)
  }

  readonly #doors: Doors = {
    open: (generation, endpoint, request, reply) => {
      const exchange = this.#exchange(request.raw, reply.raw, endpoint)
      exchange.params = request.params
      exchange.query = request.query
      generation.enter(exchange)
      void serve(exchange, endpoint)
    },
    refuse: (request, reply, error) => {
      const exchange = this.#exchange(request.raw, reply.raw, undefined)
      if (error === undefined) refuseUnmatched(exchange, this.#memory)
      else fail(exchange, error)
    },
  }

  #take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const line = this.#lineOf(incoming.socket)
    // Its connection closes with an answer before it: who sent it must send it again.
    if (line.isEnding) return
    line.isEnding = !outgoing.shouldKeepAlive
    incoming.url = originForm(incoming.url ?? '/')
    const problem = headerProblem(incoming)
    if (problem !== undefined) {
      fail(this.#exchange(incoming, outgoing, undefined), validationFailed(problem))
    } else if (this.#current !== undefined) this.#current.handle(incoming, outgoing)
    else fail(this.#exchange(incoming, outgoing, undefined), notReady('the service is starting'))
  }

  #exchange(incoming: IncomingMessage, outgoing: ServerResponse, endpoint: Exchange['endpoint']): Exchange {
    this.#open += 1
    const id = requestIdFrom(incoming.headers['x-request-id'])
    return new Exchange(this.#core, endpoint, id, this.#lineOf(incoming.socket), incoming, outgoing)
  }

  #settle(exchange: Exchange): void {
    this.#open -= 1
    exchange.generation?.leave(exchange)
    exchange.line.leave(exchange)
    const ms = this.#kernel.clock.monotonicMs() - exchange.startedMs
    const status = finalStatus(exchange)
    const meter = exchange.endpoint?.meter ?? this.#metrics.meter(exchange.incoming.method ?? '', 'unmatched')
    meter.observe(status, ms)
    logAccess(exchange, status, ms)
    if (!exchange.incoming.complete) this.#dropUnread(exchange.incoming)
    if (this.#open === 0) this.#idle?.()
  }

  /** The answer is out and the client still sends a body that nobody reads: not for long. */
  #dropUnread(incoming: IncomingMessage): void {
    const { socket } = incoming
    if (socket.destroyed) return
    const bound = setTimeout(() => socket.destroy(), this.#limits.unreadBodyMs).unref()
    incoming.once('close', () => clearTimeout(bound))
  }

  async #drained(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const bound = setTimeout(resolve, Math.min(this.#limits.drainMs, this.#limits.closeMs))
    this.#idle = resolve
    await promise
    clearTimeout(bound)
  }
}

/** RFC 9112 §3.2.2: a server takes the absolute form too. */
function originForm(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*(?=[/?#]|$)/i, '') || '/'
}
