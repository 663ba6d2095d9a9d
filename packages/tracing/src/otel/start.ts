import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { isServiceError, type Span, type SpanFacts, type TraceParent, type Tracer } from '@steeple/contracts'

/** Told what becomes of spans. */
interface SpanCounts {
  count(result: 'exported' | 'failed' | 'dropped', by: number): void
  /** How many wait now. */
  waits(count: number): void
}

/** Spans that wait at most; those of more are dropped. About 2 KiB each. */
const MOST_WAITING = 2_048
const MOST_IN_BATCH = 512
const EVERY_MS = 1_000
/** How long the end of the service waits for a collector, twice. */
const LAST_MS = 1_000

/**
 * Sends spans in batches, one at a time. A collector that is down, hangs or refuses costs the spans of its batch and nothing
 * else: nobody waits for it, and what waits for it is bounded.
 *
 * In the place of the SDK's own `BatchSpanProcessor`, which does not say what it drops.
 */
export function createBatches(exporter: SpanExporter, { count, waits }: SpanCounts): SpanProcessor {
  let waiting: ReadableSpan[] = []
  let sending: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const send = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST_IN_BATCH)
      waiting = waiting.slice(MOST_IN_BATCH)
      waits(waiting.length)
      count(await taken(exporter, batch), batch.length)
    }
  }
  const begin = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    sending ??= send().finally(() => {
      sending = undefined
    })
    return sending
  }
  const flush = (): Promise<void> => atMost(begin())
  return {
    onStart: () => undefined,
    onEnd: (span) => {
      // W3C Trace Context §3.2.2.5: the caller of a trace says whether it is kept.
      if ((span.spanContext().traceFlags & 1) === 0) return
      if (isClosed || waiting.length >= MOST_WAITING) {
        count('dropped', 1)
        return
      }
      waiting.push(span)
      waits(waiting.length)
      if (waiting.length >= MOST_IN_BATCH) void begin()
      else timer ??= setTimeout(() => void begin(), EVERY_MS).unref()
    },
    forceFlush: flush,
    shutdown: async () => {
      isClosed = true
      await flush()
      if (waiting.length > 0) count('dropped', waiting.length)
      waiting = []
      clearTimeout(timer)
      // It waits for an answer that is still to come.
      await atMost(exporter.shutdown().catch(() => undefined))
    },
  }
}

async function atMost(work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const bound = setTimeout(late.resolve, LAST_MS)
  await Promise.race([work, late.promise])
  clearTimeout(bound)
}

/** Exporters answer by a callback, with 0 for success. Never rejects. */
async function taken(exporter: SpanExporter, batch: ReadableSpan[]): Promise<'exported' | 'failed'> {
  try {
    const { promise, resolve } = Promise.withResolvers<number>()
    exporter.export(batch, ({ code }) => resolve(code))
    return (await promise) === 0 ? 'exported' : 'failed'
  } catch {
    return 'failed'
  }
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const

/** A span that others are parts of. */
interface Around extends Span {
  readonly isOver: boolean
}

/** The service's tracer over that of OpenTelemetry. */
function tracerOf(otel: OtelTracer): Tracer {
  const around = new AsyncLocalStorage<Around | undefined>()
  const current = (): TraceParent | undefined => {
    const span = around.getStore()
    // What goes on in the background once an answer is out is no part of it.
    return span === undefined || span.isOver ? undefined : span.traceparent
  }
  return {
    isOn: true,
    current,
    within: (span, work) => around.run(span as Around | undefined, work),
    begin: (facts) => begin(otel, facts, facts.parent ?? current()),
  }
}

function begin(otel: OtelTracer, facts: SpanFacts, parent: TraceParent | undefined): Around {
  const { name, kind = 'internal', attributes = {}, links = [], startedAtMs } = facts
  const span = otel.startSpan(
    name,
    {
      kind: KINDS[kind],
      attributes,
      links: links.flatMap((link) => {
        const context = contextOf(link)
        return context === undefined ? [] : [{ context }]
      }),
      ...(startedAtMs === undefined ? {} : { startTime: startedAtMs }),
    },
    under(parent),
  )
  const { traceId, spanId, traceFlags } = span.spanContext()
  let isOver = false
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    get isOver() {
      return isOver
    },
    set: (key, value) => void span.setAttribute(key, value),
    end: (error) => {
      if (isOver) return
      isOver = true
      if (error !== undefined) {
        // A message may hold anything.
        span.setAttribute('error.type', isServiceError(error) ? error.code : 'internal')
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}

function under(parent: TraceParent | undefined): Context {
  const context = parent === undefined ? undefined : contextOf(parent)
  return context === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context)
}

function contextOf(traceparent: TraceParent): SpanContext | undefined {
  const [, traceId, spanId, flags] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags ?? '', 16) & 1, isRemote: true }
}

/** Where traces go and what they say of this service. */
export interface TracingOptions extends SpanCounts {
  readonly url: string
  /** Value of the header Authorization. */
  readonly authorization: string | undefined
  readonly version: string
  readonly nodeId: string
}

/** Tracing that has begun. */
export interface RunningTracing {
  readonly tracer: Tracer
  /** Sends what waits, for a moment; the rest is lost. */
  close(): Promise<void>
}

/** How long a collector may take for one batch. */
const PATIENCE_MS = 10_000
/** Longer values lose their end. */
const LONGEST_VALUE = 200

/** Begins to send traces. Nothing of it is global. */
export function startTracing(options: TracingOptions): RunningTracing {
  const { url, authorization, version, nodeId } = options
  const exporter = new OTLPTraceExporter({
    url,
    timeoutMillis: PATIENCE_MS,
    concurrencyLimit: 1,
    ...(authorization === undefined ? {} : { headers: { authorization } }),
  })
  const batches = createBatches(exporter, options)
  const provider = new TracerProvider({
    // The caller who asks for no trace gets none.
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [batches],
    spanLimits: { attributeValueLengthLimit: LONGEST_VALUE, attributeCountLimit: 16, linkCountLimit: 32 },
    resource: resourceFromAttributes({
      'service.name': 'svc',
      'service.version': version,
      'service.instance.id': nodeId,
    }),
  })
  return { tracer: tracerOf(provider.getTracer('steeple', version)), close: () => provider.shutdown() }
}
