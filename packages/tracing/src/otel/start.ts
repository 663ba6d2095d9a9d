import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, ParentBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Tracer } from '@steeple/contracts'
import { createBatches, type SpanCounts } from './batches.ts'
import { tracerOf } from './tracer.ts'

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
