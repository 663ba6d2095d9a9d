import type { ServerResponse } from 'node:http'
import {
  atTurnEnd,
  ERROR_CATALOGUE,
  type ErrorCode,
  internal,
  isServiceError,
  jsonTextOf,
  notReady,
  pluginDependencyMissing,
  type Reply,
  type ServiceError,
  storeUnavailable,
  unauthenticated,
} from '@steeple/contracts'
import { rateHeaders } from './rate-headers.ts'
import type { RequestContext } from './request-context.ts'

/** More are not held back: the first of them has waited for the work of the others. */
const MOST_HELD = 64
/** Larger ones take long to send: that is done within the time of the turn that made them, which is bounded. */
const MOST_BYTES = 8_192

/** Ends an answer whose head is set, together with the others that become ready in the same turn of the event loop. */
export type SendTogether = (
  outgoing: ServerResponse,
  payload: string | Uint8Array | undefined,
  encoding: BufferEncoding,
) => void

/**
 * Holds small answers until the turn of the event loop ends.
 *
 * One after the other they find the reader awake and the code of the socket warm. Written in between the requests, each
 * wakes the reader anew, which costs more than all of the rest of a small answer.
 */
export function createSendTogether(): SendTogether {
  let held: Parameters<SendTogether>[] = []
  const sendHeld = (): void => {
    const ready = held
    held = []
    for (const answer of ready) end(...answer)
  }
  return (...answer) => {
    if ((answer[1]?.length ?? 0) > MOST_BYTES) {
      end(...answer)
      return
    }
    if (held.length === 0) atTurnEnd(sendHeld)
    held.push(answer)
    if (held.length >= MOST_HELD) sendHeld()
  }
}

const end: SendTogether = (outgoing, payload, encoding) => {
  if (payload === undefined) outgoing.end()
  else if (typeof payload === 'string') outgoing.end(payload, encoding)
  else outgoing.end(payload)
}

/** Headers of every answer, without those that depend on the request. Values may be overridden by a reply. */
const COMMON: readonly (readonly [string, string])[] = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
  ['Referrer-Policy', 'no-referrer'],
]

/** One year. Only over TLS: RFC 6797 §7.2 forbids it over plaintext. */
const STRICT_TRANSPORT: readonly [string, string] = ['Strict-Transport-Security', 'max-age=31536000']

const OVER_TLS = [...COMMON, STRICT_TRANSPORT]

/** The security headers of a connection, as name and value pairs. */
export function securityHeaders(isTls: boolean): readonly (readonly [string, string])[] {
  return isTls ? OVER_TLS : COMMON
}

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
function writeHead(
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

/** What a body is when nothing else is said. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends the answer of a handler: at once (undefined), or a stream until the promise resolves. */
export function respond(context: RequestContext, reply: Reply): Promise<void> | undefined {
  context.core.shares.done(context)
  if (context.isOver || context.outgoing.headersSent || context.outgoing.destroyed) return undefined
  const status = statusOf(reply)
  if (reply.stream !== undefined) return sendStream(context, reply, reply.stream)
  const type = headerOf(reply, 'content-type')
  const payload = payloadOf(reply.body, type)
  const more: Record<string, string> = {}
  if (payload !== undefined && type === undefined) more['Content-Type'] = JSON_TYPE
  send(context, status, reply.headers, more, payload)
  return undefined
}

/** The final status of a reply; one that is none (RFC 9110 §15) is a fault of the plugin that gave it. */
function statusOf({ status = 200 }: Reply): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status
  throw new RangeError(`a reply has the status ${status}, which is not one of 200 to 599`)
}

/** Sends an error in the one shape of the API, with the headers that belong to its status. */
export function respondError(context: RequestContext, error: ServiceError): void {
  const { outgoing } = context
  if (context.isOver || outgoing.destroyed) return
  if (outgoing.headersSent) {
    // Half an answer is out: only a broken connection can still say that it is not whole.
    outgoing.destroy()
    return
  }
  const headers: Record<string, string> = { 'Content-Type': JSON_TYPE }
  if (error.status === unauthenticated.status) headers['WWW-Authenticate'] = 'Bearer'
  if (context.allow !== undefined) headers.Allow = context.allow
  // Whoever is told that it does not work now is told when to try again. RFC 9110 §15.6.4
  const waitS = error.retryAfterS ?? (error.status === storeUnavailable.status ? 1 : undefined)
  if (waitS !== undefined) headers['Retry-After'] = String(Math.max(1, Math.ceil(waitS)))
  send(context, error.status, undefined, headers, JSON.stringify(errorBody(error)))
}

/** The reply of an error, as it is kept for an Idempotency-Key. */
export function replyFromError({ core }: RequestContext, thrown: unknown): Reply {
  const error = answerableError(thrown, core.errors())
  return { status: error.status, body: errorBody(error) }
}

function send(
  context: RequestContext,
  status: number,
  given: Reply['headers'],
  more: Record<string, string>,
  payload: string | Uint8Array | undefined,
): void {
  const { outgoing, incoming, core } = context
  const size = payload === undefined ? 0 : Buffer.byteLength(payload)
  if (payload !== undefined || (status !== 204 && status !== 304)) more['Content-Length'] = String(size)
  writeHead(context, status, given, more)
  // Bytes are a document that all its readers share.
  if (typeof payload === 'string') core.shares.owe(context, size)
  // As many bytes as characters: plain ASCII, which goes out without being encoded.
  const encoding = payload?.length === size ? 'latin1' : 'utf8'
  core.send(outgoing, incoming.method === 'HEAD' ? undefined : payload, encoding)
}

/** A header of a reply by its name in lower case; undefined when it has none. */
export function headerOf(reply: Reply, name: string): string | undefined {
  for (const given in reply.headers) if (given.toLowerCase() === name) return reply.headers[given]
  return undefined
}

function payloadOf(body: unknown, type: string | undefined): string | Uint8Array | undefined {
  if (body === undefined) return undefined
  if (type !== undefined && (typeof body === 'string' || body instanceof Uint8Array)) return body
  return jsonTextOf(body)
}

type Chunk = string | Uint8Array

/**
 * Sends an answer in pieces, as fast as the client reads and no faster: what is not yet read stays with the producer.
 *
 * Nothing is written before the first piece is there, so that a producer that fails at once is answered with an
 * error. A producer that fails later breaks the connection: a client must not take half a list for all of it.
 */
async function sendStream(
  context: RequestContext,
  reply: Reply,
  stream: AsyncIterable<Chunk>,
): Promise<void> {
  const { outgoing, incoming } = context
  if (incoming.method === 'HEAD') {
    writeHead(context, reply.status ?? 200, reply.headers, {})
    outgoing.end()
    return
  }
  context.isStreaming = true
  context.generation?.review()
  const pieces = stream[Symbol.asyncIterator]()
  try {
    let piece = await pieces.next()
    if (context.isOver || outgoing.destroyed || outgoing.headersSent) return
    writeHead(context, reply.status ?? 200, reply.headers, {})
    while (piece.done !== true && !isGone(context)) {
      if (!outgoing.write(piece.value)) await readOn(context)
      if (!isGone(context)) piece = await pieces.next()
    }
    outgoing.end()
  } finally {
    await pieces.return?.()
  }
}

function isGone({ isOver, outgoing }: RequestContext): boolean {
  return isOver || outgoing.destroyed
}

/** Waits until the client has read on or left; gives up on one that does neither. */
function readOn(context: RequestContext): Promise<void> {
  const { outgoing, core } = context
  const { promise, resolve } = Promise.withResolvers<void>()
  const stalled = setTimeout(() => outgoing.destroy(), core.limits.streamStallMs)
  const over = (): void => {
    clearTimeout(stalled)
    outgoing.off('drain', over).off('close', over)
    resolve()
  }
  outgoing.once('drain', over).once('close', over)
  context.onOver(over)
  return promise
}

/** The body of every error answer. */
interface ErrorBody {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details?: ServiceError['details']
  }
}

/**
 * What an answer says of a thrown value: errors of the catalogue and those that plugins declare as they are, anything
 * else `internal`. An error that says another status than was declared is not the one that was declared.
 */
export function answerableError(thrown: unknown, declared: readonly ErrorCode[]): ServiceError {
  if (!isServiceError(thrown)) return internal({ cause: thrown })
  if (thrown.code === pluginDependencyMissing.code) {
    return notReady('a part of the service that this route needs is not loaded', { cause: thrown })
  }
  const { code, status } = thrown
  const isPublic =
    ERROR_CATALOGUE.some((known) => known.code === code) ||
    declared.some((known) => known.code === code && known.status === status)
  return isPublic ? thrown : internal({ cause: thrown })
}

/** `{error: {code, message, details?}}`. */
export function errorBody(error: ServiceError): ErrorBody {
  const { code, message, details } = error
  return { error: details === undefined ? { code, message } : { code, message, details } }
}
