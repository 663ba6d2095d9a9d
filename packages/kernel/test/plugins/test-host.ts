import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isServiceError, type Log, type Migration, type Reply, type Settings } from '@steeple/contracts'
import { diffSettings, mergedSchema } from '@steeple/settings'
import { listen } from '@steeple/testkit'
import { systemTimers, type Timers } from '../../src/clock/deadline.ts'
import { createHealthBoard } from '../../src/health.ts'
import { hostContracts } from '../../src/plugin-packages/loader.ts'
import type { HttpEdge, RouteSet } from '../../src/plugins/host.ts'
import type { PluginRecord } from '../../src/plugins/plugin-entries.ts'
import { PluginRegistry, type RegistryOptions } from '../../src/plugins/registry.ts'
import { createServiceContainer } from '../../src/plugins/service-container.ts'
import { ReconcileEngine } from '../../src/reconcile/reconcile-engine.ts'
import { createMetricsBoard } from '../../src/telemetry/metrics.ts'

/** An edge over node:http: exact paths, GET and POST, server-sent events by `stream`. */
export interface TestEdge extends HttpEdge {
  readonly url: string
  /** Calls of `swap` so far. */
  readonly swaps: number
  close(): Promise<void>
}

export async function createTestEdge(): Promise<TestEdge> {
  type Handle = { route: RouteSet['routes'][number]; retiring: AbortSignal }
  interface Generation {
    sets: readonly RouteSet[]
    routes: Map<string, Handle>
    inFlight: Set<Promise<void>>
  }
  let current: Generation | undefined
  let swaps = 0
  const built = new WeakMap<object, Generation>()
  const answer = async (generation: Generation, method: string, path: string): Promise<Reply> => {
    const found = generation.routes.get(`${method} ${path}`)
    if (found === undefined) return { status: 404, body: { error: { code: 'not_found' } } }
    const request = {
      id: 'r1',
      params: {},
      query: {},
      body: undefined,
      principal: { kind: 'system', id: 't', name: 't', roles: new Set(['viewer']) },
      signal: found.retiring,
      header: () => undefined,
      page: () => ({ limit: 50, after: undefined, cursor: () => '' }),
    }
    try {
      return await found.route.handle(request as never)
    } catch (error) {
      return isServiceError(error)
        ? { status: error.status, body: { error: { code: error.code, message: error.message } } }
        : { status: 500, body: { error: { code: 'internal', message: String(error) } } }
    }
  }
  const respond = async (
    generation: Generation | undefined,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ): Promise<void> => {
    if (generation === undefined) {
      outgoing.writeHead(503).end()
      return
    }
    const reply = await answer(generation, incoming.method ?? 'GET', incoming.url ?? '/')
    outgoing.writeHead(reply.status ?? 200, { 'content-type': 'application/json' })
    if (reply.stream !== undefined) for await (const chunk of reply.stream) outgoing.write(chunk)
    outgoing.end(reply.body === undefined ? '' : JSON.stringify(reply.body))
  }
  const server: Server = createServer((incoming, outgoing) => {
    const generation = current
    const work = respond(generation, incoming, outgoing).catch(() => void outgoing.destroy())
    generation?.inFlight.add(work)
    void work.finally(() => generation?.inFlight.delete(work))
  })
  // An idle connection stays: one that ends while a slow client uses it again is an error of this edge alone.
  server.keepAliveTimeout = 0
  const { url, close } = await listen(server)
  return {
    url,
    get swaps() {
      return swaps
    },
    build: async (sets) => {
      const routes = new Map<string, Handle>()
      for (const { routes: list, retiring } of sets) {
        for (const route of list) {
          const key = `${route.method} ${route.path}`
          if (routes.has(key)) throw new TypeError(`duplicate route ${key}`)
          routes.set(key, { route, retiring })
        }
      }
      const generation = { sets, routes, inFlight: new Set<Promise<void>>() }
      built.set(generation, generation)
      return generation
    },
    swap: async (next) => {
      const before = current
      current = built.get(next)
      swaps += 1
      const bound = Promise.withResolvers<void>()
      const timer = setTimeout(bound.resolve, 5_000)
      await Promise.race([Promise.all(before?.inFlight ?? []), bound.promise])
      clearTimeout(timer)
    },
    close,
  }
}

export interface Line {
  readonly level: string
  readonly facts: Readonly<Record<string, unknown>>
  readonly message: string
}

export function createTestLog(lines: Line[], more: object = {}): Log {
  const at = (level: string) => (facts: object, message: string) => {
    lines.push({ level, facts: { ...more, ...facts }, message })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A host around a registry: real edge, timers, metrics, health and reconciler; a store that only remembers. */
export interface TestHost {
  readonly registry: PluginRegistry
  readonly options: RegistryOptions
  readonly edge: TestEdge
  readonly lines: Line[]
  /** Migration ids run, by owner. */
  readonly migrated: Map<string, string[]>
  readonly settings: {
    disabled: string[]
    trust: string[]
    allowUnsigned: boolean
    core: string
    config: Record<string, unknown>
  }
  changed(): void
  get(path: string): Promise<{ status: number; body: unknown }>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A test host that has loaded everything, as a start does. */
export async function loadedHost(...given: Parameters<typeof createTestHost>): Promise<TestHost> {
  const host = await createTestHost(...given)
  await host.registry.loadAll()
  return host
}

export async function createTestHost(
  sources: RegistryOptions['sources'],
  more: Partial<RegistryOptions> = {},
): Promise<TestHost> {
  const lines: Line[] = []
  const log = createTestLog(lines)
  const timers = more.timers ?? systemTimers()
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const edge = await createTestEdge()
  const metrics = createMetricsBoard(log)
  const reconciler = new ReconcileEngine({ clock, timers, log, metrics: metrics.kernel })
  const services = createServiceContainer()
  const migrated = new Map<string, string[]>()
  const settings = {
    disabled: [] as string[],
    trust: [] as string[],
    allowUnsigned: true,
    core: 'core_a',
    config: {} as Record<string, unknown>,
  }
  const listeners = new Set<() => void>()
  const current = (): Settings =>
    ({
      core: settings.core,
      plugins: {
        dir: '',
        disabled: settings.disabled,
        trust: settings.trust,
        allow_unsigned: settings.allowUnsigned,
      },
      ...settings.config,
    }) as unknown as Settings
  let schema = mergedSchema([])
  const db = {
    dialect: 'sqlite',
    migrate: async (owner: string, list: readonly Migration[]) => {
      migrated.set(owner, [...(migrated.get(owner) ?? []), ...list.map((one) => one.id)])
    },
    fallBack: async () => undefined,
    transact: async (work: (tx: object) => Promise<unknown>) => await work({}),
    scoped: () => ({ dialect: 'sqlite' }),
    probe: async () => undefined,
  }
  const health = createHealthBoard({ clock, timers, log, isReady: () => reconciler.isReady })
  const options: RegistryOptions = {
    edge,
    // Only what the registry touches.
    db: db as unknown as RegistryOptions['db'],
    mutations: {} as RegistryOptions['mutations'],
    log,
    logOf: (plugin) => createTestLog(lines, { plugin }),
    clock,
    timers,
    settings: {
      current,
      know: (sections) => {
        schema = mergedSchema(sections)
      },
      judge: () => undefined,
      configFor: ({ configPath }) => settings.config[configPath] ?? {},
      changes: (before, configPath) =>
        diffSettings(before, current(), schema).filter(({ key }) => key.startsWith(`${configPath}.`)),
      onChange: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    metrics,
    reconciler,
    events: { forget: async () => undefined } as unknown as RegistryOptions['events'],
    secrets: {
      list: async () => [],
      read: async () => undefined,
      write: async () => undefined,
      forget: async () => undefined,
    },
    services,
    health,
    sources,
    ...hostContracts(),
    ...more,
  }
  const registry = new PluginRegistry(options)
  const close = async (): Promise<void> => {
    await registry.stop()
    await reconciler.close()
    health.close()
    await edge.close()
  }
  return {
    registry,
    options,
    edge,
    lines,
    migrated,
    settings,
    changed: () => {
      for (const listener of listeners) listener()
    },
    get: async (path) => {
      const response = await fetch(edge.url + path)
      const text = await response.text()
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/**
 * Timers that run `factor` times as fast on an idle machine, for waits that the code bounds by many seconds. They count turns
 * of the event loop: what is not stuck gets as many of them on a busy one.
 */
export function fastTimers(factor: number): Timers {
  return {
    setTimeout: (run, delayMs) => {
      let turns = delayMs / factor
      const timer = setInterval(() => {
        turns -= 1
        if (turns > 0) return
        clearInterval(timer)
        run()
      }, 1)
      return timer
    },
    clearTimeout: (timer) => clearInterval(timer as NodeJS.Timeout | undefined), // only what setTimeout above gave out comes back
  }
}

/** The code and the message of what `work` throws; fails when it throws nothing. */
export async function failureOf(work: () => Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await work()
  } catch (error) {
    if (isServiceError(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('it did not fail')
}

export function recordOf(host: TestHost, name: string): PluginRecord {
  const record = host.registry.list().find((one) => one.name === name)
  if (record === undefined) throw new Error(`no record of ${name}`)
  return record
}
