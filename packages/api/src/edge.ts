import type { AddressInfo } from 'node:net'
import type { OwnRoutes } from '@steeple/contracts'
import type { EdgeGeneration, HttpEdge, RouteSet } from '@steeple/kernel'
import type { EdgeCore } from './edge-core.ts'
import type { EdgeKernel } from './edge-kernel.ts'
import { DEFAULT_LIMITS, type EdgeOptions } from './edge-options.ts'
import { Connections } from './host/connection.ts'
import { createRouteMemory, SYSTEM_PLUGIN } from './host/endpoint.ts'
import { buildGeneration, Generation } from './host/generation.ts'
import { createListeners, type Listeners } from './host/listeners.ts'
import { ownRoutes } from './host/own-routes.ts'
import { HttpMetrics } from './observe/http-metrics.ts'
import { createAuthenticate, createDenials } from './pipeline/authenticate.ts'
import { BodySpace } from './pipeline/body-space.ts'
import { createCursors } from './pipeline/cursor.ts'
import { FailedCredentials } from './pipeline/failed-credentials.ts'
import { createSchemaChecks } from './pipeline/schema-checks.ts'
import { createSenders, Shares } from './pipeline/shares.ts'
import { SYSTEM_PATHS, systemRoutes } from './system/routes.ts'
import { createClientCertificates } from './tls/client-certificates.ts'
import { endFallen } from './tls/server-options.ts'

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
  readonly ownRoutes: OwnRoutes
  readonly #core: EdgeCore
  readonly #options: EdgeOptions
  readonly #shutdown = new AbortController()
  readonly #listeners: Listeners
  readonly #system: RouteSet
  readonly #connections: Connections
  /** Generations before the current one that still serve somebody. */
  readonly #past = new Set<Generation>()
  readonly #live: { generation: Generation | undefined } = { generation: undefined }

  constructor(kernel: EdgeKernel, options: EdgeOptions) {
    this.#options = options
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    const certificates = createClientCertificates(kernel, options.tls)
    this.#core = {
      kernel,
      limits,
      settingsFile: options.settingsFile,
      metrics: new HttpMetrics(),
      checks: options.checks ?? createSchemaChecks(),
      checkResponses: options.checkResponses === true,
      cursors: createCursors(options.cursorSecret),
      denials: createDenials(kernel.clock, limits.denialsPerMinute),
      streams: new Map(),
      shares: new Shares(limits.share, () => kernel.clock.monotonicMs()),
      bodies: new BodySpace(limits.bodies),
      failures: new FailedCredentials(kernel, limits.failures),
      authenticate: createAuthenticate(kernel, options.adminToken, certificates),
      senderOf: createSenders(kernel),
      certificates,
      running: new Map(),
      memory: createRouteMemory(),
      shutdown: this.#shutdown.signal,
      errors: () => this.#live.generation?.sets.flatMap(({ errors }) => errors ?? []) ?? [],
    }
    this.ownRoutes = ownRoutes(this.#core, () => this.#live.generation?.endpoints ?? [])
    this.#connections = new Connections(limits.connections, this.#live)
    this.#listeners = createListeners({
      connections: this.#connections,
      certificates,
      limits,
      tls: options.tls,
      log: kernel.log,
    })
    this.#core.metrics.openConnections = () => this.#connections.size
    this.#system = {
      plugin: SYSTEM_PLUGIN,
      retiring: this.#shutdown.signal,
      paths: SYSTEM_PATHS,
      routes: systemRoutes(this.#core, () => this.#live.generation?.endpoints ?? [], options.documentation),
    }
  }

  async build(sets: readonly RouteSet[]): Promise<Generation> {
    return await buildGeneration([this.#system, ...sets], this.#core)
  }

  metricsText(): string {
    return this.#core.metrics.text()
  }

  async swap(next: EdgeGeneration): Promise<void> {
    if (!(next instanceof Generation)) throw new TypeError('this generation was built by another edge')
    const old = this.#live.generation
    this.#live.generation = next
    this.#core.memory.serve(next.endpoints)
    this.#core.metrics.generations += 1
    if (old === undefined || old === next) return
    this.#past.add(old)
    await Promise.all([...this.#past].map((past) => this.#retire(past, next)))
  }

  async listen(): Promise<AddressInfo> {
    if (this.#live.generation === undefined) await this.swap(await this.build([]))
    const { listen, plainListen, tls } = this.#options
    const { server } = this.#core.kernel.settings
    const bound = await this.#listeners.listen({
      main: listen ?? server.listen,
      plain: plainListen ?? server.plain_listen,
    })
    if (tls !== undefined) endFallen(this.#core, this.#connections)
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
    const { drainMs, closeMs } = this.#core.limits
    await this.#connections.drained(Math.min(drainMs, closeMs))
    this.#listeners.closeAllConnections()
    await closed
    await this.#core.failures.flush()
    await this.#live.generation?.retire(undefined, 0)
    this.#live.generation = undefined
  }

  /** A generation stays known as long as streams of plugins that stayed run on it: they too may leave one day. */
  async #retire(past: Generation, next: Generation): Promise<void> {
    await past.retire(next, this.#core.limits.drainMs)
    if (!past.isInUse) this.#past.delete(past)
  }
}
