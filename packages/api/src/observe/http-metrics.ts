import { type Concern, concern } from '../pipeline/concern.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

/** nginx's number for a client that left before it was answered. Never sent, only counted. */
const CLIENT_CLOSED = 499

/** Counts a request, and writes one line of it, once it is over: facts that hold no secret, neither URL nor query, headers or bodies. */
export function observeEnd(context: RequestContext): void {
  const { endpoint, incoming, outgoing, core } = context
  const { clock, log } = core.kernel
  context.onOver(() => {
    const method = incoming.method ?? ''
    const ms = clock.monotonicMs() - context.startedMs
    const status = outgoing.headersSent ? outgoing.statusCode : CLIENT_CLOSED
    const meter = endpoint?.meter ?? core.metrics.meter(method, context.pattern)
    meter.observe(status, ms)
    const { kind, id } = context.principal
    const facts = {
      request_id: context.id,
      method,
      route: context.pattern,
      status,
      ms: Math.round(ms * 100) / 100,
      principal: `${kind}:${id}`,
      ip: context.peerAddress,
    }
    // An id that the client chose may be anything, a token too.
    if (incoming.headers['x-request-id'] === undefined) log.plain(facts, 'request')
    else log.info(facts, 'request')
  })
}

/** The access log and the metrics of requests. */
export const observe: Concern = concern('observe', ['id'], (app) => {
  app.addHook('onRequest', ({ context }, _reply, done) => {
    observeEnd(context)
    done()
  })
})

/** Upper bounds of the duration buckets, seconds. */
const DURATION_BUCKETS_S: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10,
]

/** Counts of one method and route pattern. Plain numbers: a request costs a few additions. */
export class RouteMeter {
  readonly method: string
  readonly route: string
  readonly #byStatus = new Map<number, number>()
  readonly #buckets = new Float64Array(DURATION_BUCKETS_S.length)
  #seconds = 0
  #count = 0

  constructor(method: string, route: string) {
    this.method = method
    this.route = route
  }

  /** Counts one finished request. `ms` is its duration. */
  observe(status: number, ms: number): void {
    const seconds = ms / 1_000
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1)
    this.#seconds += seconds
    this.#count += 1
    const bucket = DURATION_BUCKETS_S.findIndex((bound) => seconds <= bound)
    if (bucket !== -1) this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1
  }

  /** Whether it has counted anything. */
  get isUsed(): boolean {
    return this.#count > 0
  }

  /** Lines of `svc_http_requests_total`. */
  requestLines(): readonly string[] {
    const labels = `method="${this.method}",route="${this.route}"`
    return [...this.#byStatus].map(
      ([status, count]) => `svc_http_requests_total{${labels},status="${status}"} ${count}`,
    )
  }

  /** Lines of `svc_http_request_duration_seconds`. */
  durationLines(): readonly string[] {
    const labels = `method="${this.method}",route="${this.route}"`
    const name = 'svc_http_request_duration_seconds'
    let below = 0
    const lines = DURATION_BUCKETS_S.map((bound, index) => {
      below += this.#buckets[index] ?? 0
      return `${name}_bucket{${labels},le="${bound}"} ${below}`
    })
    lines.push(`${name}_bucket{${labels},le="+Inf"} ${this.#count}`)
    lines.push(`${name}_sum{${labels}} ${this.#seconds}`, `${name}_count{${labels}} ${this.#count}`)
    return lines
  }
}

/** The edge's own metrics as text exposition (format 0.0.4). Labels are route patterns, never URLs. */
export class HttpMetrics {
  readonly #meters = new Map<string, RouteMeter>()
  openConnections: () => number = () => 0
  eventStreams = 0
  generations = 0

  /** The meter of a route pattern; the same one for the same pattern, whichever plugin version serves it. */
  meter(method: string, route: string): RouteMeter {
    const key = `${method} ${route}`
    const known = this.#meters.get(key)
    if (known !== undefined) return known
    const made = new RouteMeter(method, route)
    this.#meters.set(key, made)
    return made
  }

  /** All lines, ending in a newline. */
  text(): string {
    const meters = [...this.#meters.values()].filter((meter) => meter.isUsed)
    const lines = [
      '# HELP svc_http_requests_total Answered HTTP requests.',
      '# TYPE svc_http_requests_total counter',
      ...meters.flatMap((meter) => meter.requestLines()),
      '# HELP svc_http_request_duration_seconds Time from the head of a request to the end of its answer.',
      '# TYPE svc_http_request_duration_seconds histogram',
      ...meters.flatMap((meter) => meter.durationLines()),
      '# HELP svc_http_connections_open Open client connections.',
      '# TYPE svc_http_connections_open gauge',
      `svc_http_connections_open ${this.openConnections()}`,
      '# HELP svc_http_event_streams_open Open event streams.',
      '# TYPE svc_http_event_streams_open gauge',
      `svc_http_event_streams_open ${this.eventStreams}`,
      '# HELP svc_http_generations_total Route sets that were put into service.',
      '# TYPE svc_http_generations_total counter',
      `svc_http_generations_total ${this.generations}`,
    ]
    return `${lines.join('\n')}\n`
  }
}
