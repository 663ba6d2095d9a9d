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
import { isServiceError, type Span, type SpanFacts, type TraceParent, type Tracer } from '@steeple/contracts'

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const

/** A span that others are parts of. */
interface Around extends Span {
  readonly isOver: boolean
}

/** The service's tracer over that of OpenTelemetry. */
export function tracerOf(otel: OtelTracer): Tracer {
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
