import type { TraceParent } from '@steeple/contracts'
import type { EdgeKernel } from '../edge-kernel.ts'
import type { RequestContext } from './request-context.ts'

/** W3C Trace Context §3.2: version 00, a trace and a span that are not zero, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Does the work of a request as a span that goes on with the trace of its caller. Route patterns, never URLs. */
export async function traced(
  tracing: NonNullable<EdgeKernel['tracing']>,
  context: RequestContext,
  work: () => Promise<void>,
): Promise<void> {
  const method = context.incoming.method ?? ''
  const parent = parentOf(context)
  const facts = {
    name: `${method} ${context.pattern}`,
    kind: 'server' as const,
    attributes: { 'http.request.method': method, 'http.route': context.pattern },
    ...(parent === undefined ? {} : { parent }),
  }
  // A connection serves many: nothing that another request was a part of counts here.
  await tracing.detached(() =>
    tracing.span(facts, async (span) => {
      await work()
      span?.set('http.response.status_code', context.outgoing.statusCode)
    }),
  )
}

function parentOf({ incoming }: RequestContext): TraceParent | undefined {
  const { traceparent } = incoming.headers
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined
}
