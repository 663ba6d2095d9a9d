import {
  type Context,
  type Instance,
  nodeIdentityRef,
  type Plugin,
  serviceInfoRef,
  type Tracer,
  tracerRef,
} from '@steeple/contracts'

/** `telemetry.*` of the configuration, as far as it is about traces. */
interface TracingConfig {
  /** Empty: no traces. */
  readonly otlp_url: string
}

/** Traces by OTLP over HTTP. */
export const plugin: Plugin<TracingConfig> = {
  setup: async (context: Context<TracingConfig>): Promise<Instance> => {
    const tracer = context.config.otlp_url === '' ? NO_TRACER : await openTracer(context)
    return { services: new Map([[tracerRef.id, tracer]]) }
  },
}

/** What stands there while no traces are asked for. */
const NO_TRACER: Tracer = {
  isOn: false,
  begin: () => ({ traceparent: '', set: () => undefined, end: () => undefined }),
  within: (_, work) => work(),
  current: () => undefined,
}

async function openTracer(context: Context<TracingConfig>): Promise<Tracer> {
  const authorization = await context.secret('otlp_authorization')
  const spans = context.metrics.counter('svc_tracing_spans_total', 'Spans that have ended, by result', [
    'result',
  ])
  const waiting = context.metrics.gauge('svc_tracing_spans_waiting', 'Spans that wait for the collector')
  // All of OpenTelemetry is behind this import: who has no traces has none of it in memory.
  const { startTracing } = await import('./otel/start.ts')
  const tracing = startTracing({
    url: context.config.otlp_url,
    authorization,
    version: context.use(serviceInfoRef).version,
    nodeId: context.use(nodeIdentityRef).nodeId,
    count: (result, by) => spans.inc({ result }, by),
    waits: (count) => waiting.set(count),
  })
  context.defer(() => tracing.close())
  context.log.info({}, 'traces are sent')
  return tracing.tracer
}
