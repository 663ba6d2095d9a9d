import type { RequestContext } from '../pipeline/request-context.ts'

/** nginx's number for a client that left before it was answered. Never sent, only counted. */
const CLIENT_CLOSED = 499

/** The status that a finished exchange is counted under. */
export function finalStatus(context: RequestContext): number {
  return context.outgoing.headersSent ? context.outgoing.statusCode : CLIENT_CLOSED
}

/** One line per request: facts that hold no secret. Neither URL nor query, headers or bodies. */
export function logAccess(context: RequestContext, status: number, ms: number): void {
  const { principal, core, incoming } = context
  const facts = {
    request_id: context.id,
    method: incoming.method ?? '',
    route: context.pattern,
    status,
    ms: Math.round(ms * 100) / 100,
    principal: `${principal.kind}:${principal.id}`,
    ip: context.peerAddress,
  }
  const { log } = core.kernel
  // An id that the client chose may be anything, a token too.
  if (incoming.headers['x-request-id'] === undefined) log.plain(facts, 'request')
  else log.info(facts, 'request')
}
