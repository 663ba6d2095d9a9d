import type { Reply } from '@steeple/contracts'
import { rateHeaders } from './rate-headers.ts'
import type { RequestContext } from './request-context.ts'
import { securityHeaders } from './security-headers.ts'

/** How an answer is framed is the edge's to say: two lengths would be two answers (RFC 9112 §6.3, RFC 9110 §7.6.1). */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Writes status and headers. Those of the reply replace the edge's own of the same name. */
export function writeHead(
  context: RequestContext,
  status: number,
  given: Reply['headers'],
  more: Readonly<Record<string, string>>,
): void {
  const { incoming, outgoing } = context
  const head: string[] = ['X-Request-Id', context.id]
  const replaced =
    given === undefined ? undefined : new Set(Object.keys(given).map((name) => name.toLowerCase()))
  for (const [name, value] of securityHeaders('encrypted' in incoming.socket)) {
    if (replaced?.has(name.toLowerCase()) !== true) head.push(name, value)
  }
  for (const name in more) head.push(name, more[name] ?? '')
  for (const name in given) if (!FRAMING.has(name.toLowerCase())) head.push(name, given[name] ?? '')
  const { rate } = context
  if (rate !== undefined) pushRate(head, context, rate)
  if (mustClose(context)) {
    context.queue.end()
    head.push('Connection', 'close')
  }
  outgoing.writeHead(status, head)
}

function pushRate(head: string[], context: RequestContext, rate: NonNullable<RequestContext['rate']>): void {
  const route = context.endpoint?.route
  const name = rate.name ?? (route?.method === 'GET' ? undefined : route?.rateLimit?.name)
  if (name === undefined) return
  for (const [field, value] of Object.entries(rateHeaders(name, rate))) head.push(field, value)
}

/**
 * A body that was not asked for (`Expect`) must not be taken for the next request; a closing listener takes no more,
 * but answers all that it has taken: the last answer of a connection closes it.
 * Whoever presents a certificate that is not believed comes again with another one, on another connection.
 * Behind a request with `Upgrade`, which is never done here, node reads nothing more: the client is told so.
 */
function mustClose(context: RequestContext): boolean {
  const { incoming, core, queue } = context
  const { expect, upgrade } = incoming.headers
  return (
    upgrade !== undefined ||
    core.certificates.isRefused(incoming.socket) ||
    (core.isClosing() && queue.endsWith(context)) ||
    (!incoming.complete && expect !== undefined)
  )
}
