import {
  jsonTextOf,
  type Reply,
  type ServiceError,
  storeUnavailable,
  unauthenticated,
} from '@steeple/contracts'
import { answerableError, errorBody } from './error-mapping.ts'
import type { RequestContext } from './request-context.ts'
import { sendStream } from './respond-stream.ts'
import { writeHead } from './write-head.ts'

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
