import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  featureNotInstalled,
  methodNotAllowed,
  notFound,
  notReady,
  type ServiceError,
  validationFailed,
} from '@steeple/contracts'
import type { EdgeGeneration, HttpEdge, RouteSet } from '@steeple/kernel'
import type { EdgeCore } from './edge-core.ts'
import type { EdgeKernel } from './edge-kernel.ts'
import { DEFAULT_LIMITS, type EdgeLimits, type EdgeOptions } from './edge-options.ts'
import { createConnectionQueues, createConnections } from './host/connection-queue.ts'
import { createRouteMemory, type Endpoint, fits, type RouteMemory, SYSTEM_PLUGIN } from './host/endpoint.ts'
import { buildGeneration, Generation, pageFor, type RequestHandler } from './host/generation.ts'
import { createListeners, type Listeners } from './host/listeners.ts'
import { finalStatus, HttpMetrics, logAccess } from './observe/http-metrics.ts'
import { createAuthenticate, createDenials } from './pipeline/authenticate.ts'
import { BodySpace } from './pipeline/body-space.ts'
import { createCursors } from './pipeline/cursor.ts'
import { FailedCredentials } from './pipeline/failed-credentials.ts'
import { RequestContext } from './pipeline/request-context.ts'
import { createSendTogether } from './pipeline/respond.ts'
import { createSchemaChecks, type SchemaChecks } from './pipeline/schema-checks.ts'
import { fail, serve } from './pipeline/serve.ts'
import { createSenders, Shares } from './pipeline/shares.ts'
import { headerProblem, type RequestProblem } from './pipeline/validate.ts'
import { SYSTEM_PATHS, systemRoutes } from './system/routes.ts'
import { type ClientCertificates, createClientCertificates } from './tls/client-certificates.ts'
import { endFallen } from './tls/server-options.ts'

const PROBLEM: RequestProblem = {
  message: 'the query is not percent-encoded UTF-8 (RFC 3986 §2.1); write % itself as %25',
  isFraming: false,
}

/** Whoever reads such a query takes the octets as they are, or others: a filter would look for what nobody has asked for. */
function queryProblem({ url = '' }: IncomingMessage): RequestProblem | undefined {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('%', start)) return undefined
  try {
    decodeURIComponent(url.slice(start))
    return undefined
  } catch {
    return PROBLEM
  }
}

/** Contract section 2: what a client may choose. */
const GIVEN = /^[A-Za-z0-9._-]{1,64}$/

/**
 * A token of ours, or most of one, somewhere in the text. Whoever pastes one here by mistake must not have it in every
 * log line and audit entry.
 */
const TOKEN = /svcb?_[A-Za-z0-9_-]{32}/

/** The request id: the client's `X-Request-Id` when it is 1 to 64 of `[A-Za-z0-9._-]`, otherwise a new UUID. */
export function requestIdFrom(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && GIVEN.test(header) && !TOKEN.test(header) ? header : randomUUID()
}

/** The HTTP edge: one listener, one set of routes at a time. */
export interface Edge extends HttpEdge {
  /** Opens the port. The edge's own routes answer from here on, plugins' from the first `swap` on. */
  listen(): Promise<AddressInfo>
  /** Where it listens; undefined before `listen` and after `close`. */
  address(): AddressInfo | undefined
  /** Where it serves plain HTTP beside TLS; undefined when nowhere. */
  plainAddress(): AddressInfo | undefined
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
  readonly #checks: SchemaChecks
  readonly #shutdown = new AbortController()
  readonly #queues = createConnectionQueues((...pair) => this.#begin(...pair))
  readonly #certificates: ClientCertificates
  readonly #listeners: Listeners
  readonly #system: RouteSet
  readonly #connections: ReturnType<typeof createConnections>
  #unwatch: (() => void) | undefined
  /** Generations before the current one that still serve somebody. */
  readonly #past = new Set<Generation>()
  #open = 0
  #idle: (() => void) | undefined
  #current: Generation | undefined

  constructor(kernel: EdgeKernel, options: EdgeOptions) {
    this.#kernel = kernel
    this.#options = options
    this.#checks = options.checks ?? createSchemaChecks()
    this.#certificates = createClientCertificates(kernel, options.tls)
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#core = {
      kernel,
      limits: this.#limits,
      settingsFile: options.settingsFile,
      metrics: this.#metrics,
      cursors: createCursors(options.cursorSecret),
      denials: createDenials(kernel.clock, this.#limits.denialsPerMinute),
      streams: new Map(),
      shares: new Shares(this.#limits.share, () => kernel.clock.monotonicMs()),
      bodies: new BodySpace(this.#limits.bodies),
      failures: new FailedCredentials(kernel, this.#limits.failures),
      authenticate: createAuthenticate(kernel, options.adminToken, this.#certificates),
      senderOf: createSenders(kernel),
      certificates: this.#certificates,
      running: new Map(),
      send: createSendTogether(),
      shutdown: this.#shutdown.signal,
      errors: () => this.#current?.sets.flatMap(({ errors }) => errors ?? []) ?? [],
      isClosing: () => this.#shutdown.signal.aborted,
      settled: (context) => this.#settle(context),
    }
    const { connections, streamStallMs } = this.#limits
    this.#connections = createConnections(connections, streamStallMs, this.#queues)
    const take = (incoming: IncomingMessage, outgoing: ServerResponse): void =>
      this.#queues.of(incoming.socket).take(incoming, outgoing)
    this.#listeners = createListeners({
      take,
      queues: this.#queues,
      connections: this.#connections,
      certificates: this.#certificates,
      limits: this.#limits,
      tls: options.tls,
      log: kernel.log,
    })
    this.#metrics.openConnections = () => this.#connections.size
    this.#system = {
      plugin: SYSTEM_PLUGIN,
      retiring: this.#shutdown.signal,
      paths: SYSTEM_PATHS,
      routes: systemRoutes(this.#core, () => this.#current?.endpoints ?? [], options.documentation),
    }
  }

  async build(sets: readonly RouteSet[]): Promise<Generation> {
    const parts = {
      checks: this.#checks,
      metrics: this.#metrics,
      checkResponses: this.#options.checkResponses === true,
    }
    return await buildGeneration([this.#system, ...sets], parts, this.#handler)
  }

  metricsText(): string {
    return this.#metrics.text()
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
    const { listen, plainListen, tls } = this.#options
    const { server } = this.#kernel.settings
    const bound = await this.#listeners.listen({
      main: listen ?? server.listen,
      plain: plainListen ?? server.plain_listen,
    })
    this.#unwatch = this.#connections.watch()
    if (tls !== undefined)
      endFallen(this.#kernel, this.#certificates, this.#queues, this.#limits, this.#shutdown.signal)
    return bound
  }

  address(): AddressInfo | undefined {
    return this.#listeners.address()
  }

  plainAddress(): AddressInfo | undefined {
    return this.#listeners.plainAddress()
  }

  async close(): Promise<void> {
    this.#shutdown.abort()
    const closed = this.#listeners.close()
    if (this.#open > 0) await this.#drained()
    this.#listeners.closeAllConnections()
    await closed
    this.#unwatch?.()
    await this.#core.failures.flush()
    await this.#current?.retire(undefined, 0)
    this.#current = undefined
  }

  /** A generation stays known as long as streams of plugins that stayed run on it: they too may leave one day. */
  async #retire(past: Generation, next: Generation): Promise<void> {
    await past.retire(next, this.#limits.drainMs)
    if (!past.isInUse) this.#past.delete(past)
  }

  readonly #handler: RequestHandler = {
    open: (generation, endpoint, request, reply) => {
      const context = this.#context(request.raw, reply.raw, endpoint)
      context.params = request.params
      context.query = request.query
      generation.enter(context)
      void serve(context, endpoint)
    },
    refuse: (request, reply, error) => {
      const page = error === undefined ? this.#page(request.raw) : undefined
      if (page !== undefined) {
        this.#handler.open(page.generation, page.endpoint, request, reply)
        return
      }
      const context = this.#context(request.raw, reply.raw, undefined)
      if (error === undefined) refuseUnmatched(context, this.#memory)
      else fail(context, error)
    },
  }

  /** What shows the page at a path without a route, if it is one that a browser asks for. */
  #page(incoming: IncomingMessage): { generation: Generation; endpoint: Endpoint } | undefined {
    const generation = this.#current
    const endpoint = generation && pageFor(incoming, generation.endpoints, this.#kernel.features())
    return endpoint && { generation, endpoint }
  }

  #begin(incoming: IncomingMessage, outgoing: ServerResponse): void {
    incoming.url = originForm(incoming.url ?? '/')
    const problem = headerProblem(incoming) ?? queryProblem(incoming)
    if (problem !== undefined) {
      if (problem.isFraming) {
        outgoing.shouldKeepAlive = false
        this.#queues.of(incoming.socket).end()
      }
      fail(this.#context(incoming, outgoing, undefined), validationFailed(problem.message))
    } else if (this.#current !== undefined) this.#current.handle(incoming, outgoing)
    else fail(this.#context(incoming, outgoing, undefined), notReady('the service is starting'))
  }

  #context(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    endpoint: RequestContext['endpoint'],
  ): RequestContext {
    this.#open += 1
    const id = requestIdFrom(incoming.headers['x-request-id'])
    return new RequestContext(this.#core, endpoint, id, this.#queues.of(incoming.socket), incoming, outgoing)
  }

  #settle(context: RequestContext): void {
    this.#open -= 1
    context.generation?.leave(context)
    this.#core.shares.leave(context)
    const ms = this.#kernel.clock.monotonicMs() - context.startedMs
    const status = finalStatus(context)
    const meter = context.endpoint?.meter ?? this.#metrics.meter(context.incoming.method ?? '', 'unmatched')
    meter.observe(status, ms)
    logAccess(context, status, ms)
    if (!context.incoming.complete) this.#dropUnread(context.incoming)
    context.queue.leave(context)
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

/** RFC 9112 §3.2.2: a server takes the absolute form too. What is of no form (`GET *`) is a path that nothing has. */
function originForm(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*(?=[/?#]|$)/i, '') || '/'
  return /^[/?#]/.test(path) ? path : `/${path}`
}

/**
 * Answers a request that no route fits: the method is wrong (405 and `Allow`), the feature is not here (404
 * `feature_not_installed`), or there is nothing (404 `not_found`). Needs no credential: the document of all routes
 * is public.
 */
function refuseUnmatched(context: RequestContext, memory: RouteMemory): void {
  fail(context, reasonOf(context, memory))
}

function reasonOf(context: RequestContext, memory: RouteMemory): ServiceError {
  const { path } = context
  const method = context.incoming.method ?? 'GET'
  const withdrawn = memory.withdrawn(method === 'HEAD' ? 'GET' : method, path)
  if (withdrawn !== undefined) return featureNotInstalled(withdrawn)
  const methods = memory.methodsOf(path)
  // A path whose method is among them did not fit for another reason: some escape in it.
  if (methods.length > 0 && !methods.includes(method)) {
    context.allow = methods.join(', ')
    return methodNotAllowed(method, context.allow)
  }
  const absent = context.core.kernel
    .features()
    .find(({ prefix }) => isUnder(path, prefix) && !memory.hasUnder(prefix))
  return absent === undefined ? notFound('such path') : featureNotInstalled(absent.plugin)
}

/** A prefix may have parameters: `/v1/sims/:imsi/quota`. */
function isUnder(path: string, prefix: string): boolean {
  const asked = path.split('/')
  const parts = prefix.split('/')
  return asked.length >= parts.length && fits(parts, asked.slice(0, parts.length))
}
