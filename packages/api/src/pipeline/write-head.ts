import type { Reply } from '@steeple/contracts'
import type { Exchange } from './exchange.ts'
import { rateHeaders } from './rate-headers.ts'

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
  exchange: Exchange,
  status: number,
  given: Reply['headers'],
  more: Readonly<Record<string, string>>,
): void {
  const { core, outgoing } = exchange
  const head: string[] = ['X-Request-Id', exchange.id]
  const replaced =
    given === undefined ? undefined : new Set(Object.keys(given).map((name) => name.toLowerCase()))
  for (const [name, value] of core.headers) {
    if (replaced?.has(name.toLowerCase()) !== true) head.push(name, value)
  }
  for (const name in more) head.push(name, more[name] ?? '')
  for (const name in given) if (!FRAMING.has(name.toLowerCase())) head.push(name, given[name] ?? '')
  const { rate } = exchange
  if (rate !== undefined) pushRate(head, exchange, rate)
  if (mustClose(exchange)) {
    exchange.line.isEnding = true
    head.push('Connection', 'close')
  }
  outgoing.writeHead(status, head)
}

function pushRate(head: string[], exchange: Exchange, rate: NonNullable<Exchange['rate']>): void {
  const route = exchange.endpoint?.route
  const name = rate.name ?? (route?.method === 'GET' ? undefined : route?.rateLimit?.name)
  if (name === undefined) return
  for (const [field, value] of Object.entries(rateHeaders(name, rate))) head.push(field, value)
}

/**
 * A body that was not asked for (`Expect`) must not be taken for the next request; a closing listener takes no more,
 * but answers all that it has taken: the last answer of a connection closes it.
 * After an answer to half a request with `Upgrade`, which is never done here, node reads nothing more from the socket.
 */
function mustClose(exchange: Exchange): boolean {
  const { incoming, core, line } = exchange
  const { expect, upgrade } = incoming.headers
  return (
    (core.isClosing() && line.endsWith(exchange)) ||
    (!incoming.complete && (expect !== undefined || upgrade !== undefined))
  )
}
