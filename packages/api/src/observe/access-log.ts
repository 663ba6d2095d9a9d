import type { Exchange } from '../pipeline/exchange.ts'

/** nginx's number for a client that left before it was answered. Never sent, only counted. */
const CLIENT_CLOSED = 499

/** The status that a finished exchange is counted under. */
export function finalStatus(exchange: Exchange): number {
  return exchange.outgoing.headersSent ? exchange.outgoing.statusCode : CLIENT_CLOSED
}

/** One line per request: facts that hold no secret. Neither URL nor query, headers or bodies. */
export function logAccess(exchange: Exchange, status: number, ms: number): void {
  const { principal, core, incoming } = exchange
  const facts = {
    request_id: exchange.id,
    method: incoming.method ?? '',
    route: exchange.pattern,
    status,
    ms: Math.round(ms * 100) / 100,
    principal: `${principal.kind}:${principal.id}`,
    ip: exchange.peerAddress,
  }
  const { log } = core.kernel
  // An id that the client chose may be anything, a token too.
  if (incoming.headers['x-request-id'] === undefined) log.plain(facts, 'request')
  else log.info(facts, 'request')
}
