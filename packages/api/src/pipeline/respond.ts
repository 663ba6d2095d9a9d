import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  ERROR_CATALOGUE,
  type ErrorCode,
  internal,
  isServiceError,
  namesTag,
  notReady,
  pluginDependencyMissing,
  type Reply,
  type ServiceError,
  storeUnavailable,
  unauthenticated,
  unsupportedMediaType,
} from '@steeple/contracts'
import type { RateState } from '@steeple/kernel'
import { acceptedTypes, type Endpoint } from '../host/endpoint.ts'
import { ClientLeft } from './body-space.ts'
import { type Concern, concern } from './concern.ts'
import type { RequestContext } from './request-context.ts'

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

/** What every answer says of how it may be used. */
export const headers: Concern = concern('headers', ['id'], (app) => {
  app.addHook('onRequest', ({ context }, _reply, done) => {
    startHead(context)
    done()
  })
})

export function startHead({ id, connection, reply }: RequestContext): void {
  reply.header('x-request-id', id)
  for (const [name, value] of securityHeaders(connection.isTls)) reply.header(name, value)
}

/** Characters of base64url of a tag: 132 bits of a hash. */
const TAG_LENGTH = 22

/** The entity tag of an answer by its content, strong. Source: RFC 9110 §8.8.3. */
export function etagFrom(content: string | Uint8Array): string {
  return `"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`
}

/** The limits of `policy.rate_limits` count per hour. Specification, Limits. */
const POLICY_WINDOW_S = 3_600

/** State of a limit; `name` and `windowS` when it is the edge's own and not one of the policy. */
export interface EdgeRate extends RateState {
  readonly name?: string
  readonly windowS?: number
}

/**
 * The RateLimit header fields of an answer to a limited route.
 *
 * Two spellings: `RateLimit-Limit`, `-Remaining` and `-Reset` (drafts up to 07, widely read) and the structured
 * fields `RateLimit` and `RateLimit-Policy`. Source: draft-ietf-httpapi-ratelimit-headers-10.
 */
function rateHeaders(name: string, state: EdgeRate): Readonly<Record<string, string>> {
  return {
    'RateLimit-Limit': String(state.limit),
    'RateLimit-Remaining': String(state.remaining),
    'RateLimit-Reset': String(state.resetS),
    'RateLimit-Policy': `"${name}";q=${state.limit};w=${state.windowS ?? POLICY_WINDOW_S}`,
    RateLimit: `"${name}";r=${state.remaining};t=${state.resetS}`,
  }
}

/** What is left of a limit, beside an answer that was counted or refused by one. */
export const rateLimits: Concern = concern('rate-limits', ['idempotency'], (app) => {
  app.addHook<Reply>('preSerialization', ({ context: { rate, endpoint } }, reply, answer, done) => {
    const route = endpoint?.route
    const name = rate?.name ?? (route?.method === 'GET' ? undefined : route?.rateLimit?.name)
    if (rate !== undefined && name !== undefined) reply.headers(rateHeaders(name, rate))
    done(null, answer)
  })
})

/** What a body is when nothing else is said. */
const JSON_TYPE = 'application/json; charset=utf-8'

/** A header of a reply by its name in lower case; undefined when it has none. */
function headerOf(reply: Reply, name: string): string | undefined {
  for (const given in reply.headers) if (given.toLowerCase() === name) return reply.headers[given]
  return undefined
}

type Chunk = string | Uint8Array

/** Turns the `Reply` of a handler into what fastify sends. */
export const answer: Concern = concern('answer', ['rate-limits'], (app) => {
  app.addHook<Reply>('preSerialization', ({ context }, reply, given, done) => {
    // Nobody is there any more, or its plugin left and said so: a stream is not begun.
    if (context.isOver || context.outgoing.destroyed) {
      reply.hijack()
      return
    }
    if (context.endpoint?.checkResponse !== undefined) refuseUndocumented(given, context.endpoint)
    done(null, payloadOf(context, given))
  })
})

/**
 * Gives the answer of a `conditional` route the tag of its content, unless its handler has given one, and tells whoever names that in
 * `If-None-Match` that it is still the same. Source: RFC 9110 §13.1.2, §15.4.5.
 */
export const conditional: Concern = concern('conditional', ['answer'], (app) => {
  app.addHook('onSend', ({ context }, reply, payload, done) => {
    const route = context.endpoint?.route
    const isMeant = route?.method === 'GET' && route.conditional === true && reply.statusCode === 200
    if (!isMeant || !(typeof payload === 'string' || payload instanceof Uint8Array)) {
      done()
      return
    }
    const etag = String(reply.getHeader('etag') ?? etagFrom(payload))
    reply.header('etag', etag)
    const own = etag.replace(/^W\//, '').replaceAll('"', '')
    const isKnown = namesTag(context.header('if-none-match') ?? '', (tag) => tag === own)
    // Neither type nor coding of a body that there is not.
    if (isKnown) reply.code(304).removeHeader('content-type').removeHeader('content-encoding')
    done(null, isKnown ? nothing(context) : payload)
  })
})

/** The final status of a reply; one that is none (RFC 9110 §15) is a fault of the plugin that gave it. */
function statusOf({ status = 200 }: Reply): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status
  throw new RangeError(`a reply has the status ${status}, which is not one of 200 to 599`)
}

/** What `payloadOf` has made needs no serializer. */
function asItIs<T>(payload: T): T {
  return payload
}

/** Sets status and headers of an answer, and makes what is sent behind them. */
export function payloadOf(context: RequestContext, given: Reply): string | Buffer | Readable | null {
  const { reply } = context
  const { body, stream } = given
  const type = headerOf(given, 'content-type')
  reply.code(statusOf(given)).serializer(asItIs)
  putHeaders(context, given)
  const isBytes = type !== undefined && (typeof body === 'string' || body instanceof Uint8Array)
  const payload = stream ?? (isBytes ? body : JSON.stringify(body))
  if (payload === undefined) {
    // fastify has taken it for JSON.
    if (type === undefined) reply.removeHeader('content-type')
    return nothing(context)
  }
  reply.type(type ?? JSON_TYPE)
  if (payload instanceof Uint8Array)
    return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength)
  if (typeof payload === 'string') return payload
  return context.incoming.method === 'HEAD' ? nothing(context) : readableOf(context, payload)
}

/** No body. For HEAD fastify looks at one, to tell its length: this one has none to tell. */
function nothing({ incoming }: RequestContext): Readable | null {
  return incoming.method === 'HEAD' ? Readable.from([]) : null
}

function putHeaders(context: RequestContext, { headers: given }: Reply): void {
  const { reply } = context
  for (const name in given) if (!FRAMING.has(name.toLowerCase())) reply.header(name, given[name])
  if (mustClose(context)) {
    context.connection.endNext()
    reply.header('connection', 'close')
  }
}

/**
 * The pieces of an answer, taken as fast as the client reads and no faster. fastify writes nothing before the first is there, so that a
 * producer that fails at once is answered with an error; one that fails later breaks the connection: nobody takes half a list for all of it.
 */
function readableOf(context: RequestContext, stream: AsyncIterable<Chunk>): Readable {
  context.isStreaming = true
  context.generation?.review()
  return Readable.from(stream, { objectMode: false }).on('error', (error) => {
    if (context.outgoing.headersSent) context.noteFailure(internal({ cause: error }))
  })
}

/**
 * A body that was not asked for (`Expect`) must not be taken for the next request; a closing listener takes no more,
 * but answers all that it has taken: the last answer of a connection closes it.
 * Whoever presents a certificate that is not believed comes again with another one, on another connection.
 * Behind a request with `Upgrade`, which is never done here, node reads nothing more: the client is told so.
 */
function mustClose(context: RequestContext): boolean {
  const { incoming, core, connection } = context
  const { expect, upgrade } = incoming.headers
  return (
    upgrade !== undefined ||
    core.certificates.isRefused(connection.socket) ||
    (core.shutdown.aborted && connection.endsWith(context)) ||
    (expect !== undefined && !context.isInvited)
  )
}

function refuseUndocumented(reply: Reply, endpoint: Endpoint): void {
  const { route, checkResponse } = endpoint
  const status = reply.status ?? 200
  const { body } = reply
  if (reply.stream !== undefined || body instanceof Uint8Array) return
  if (typeof body !== 'object' || status >= 400) return
  const details = checkResponse?.(JSON.parse(JSON.stringify(body)), true)
  if (details === undefined) return
  const what = details.map((detail) => `${detail.pointer} ${detail.message}`).join('; ')
  throw new Error(`the answer of ${route.method} ${route.path} does not fit its schema: ${what}`)
}

/** Answers what was thrown anywhere, in the one shape of errors. What is not the client's fault goes to the log, once. */
export const errors: Concern = concern('errors', ['headers', 'observe'], (app) => {
  app.setErrorHandler((thrown, { context }, reply) => {
    if (thrown instanceof ClientLeft || isOfDeparture(context, thrown)) {
      reply.hijack()
      if (!context.outgoing.headersSent) context.outgoing.destroy()
      return undefined
    }
    // Those of an answer that was to be sent, and what fastify says of a connection whose body it could not read.
    for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name)
    startHead(context)
    const error = answerableError(asServiceError(thrown, context), context.core.errors())
    // RequestContext is a Request; its parts are unchecked, as the route was told.
    const onRefused =
      context.isUnderCheck && error.status < 500
        ? context.endpoint?.route.onRefused?.(context as never, error)
        : undefined
    context.isUnderCheck = false
    if (onRefused === undefined) return refusal(context, error)
    // The route may have an error of its own that comes before.
    return onRefused.then(
      () => refusal(context, error),
      (other: unknown) =>
        refusal(context, answerableError(asServiceError(other, context), context.core.errors())),
    )
  })
})

/** The answer of an error, with the headers that belong to its status. */
export function refusal(context: RequestContext, error: ServiceError): Reply {
  if (error.status >= 500) context.noteFailure(error)
  if (error.status === 429) context.rate ??= rateOfRefusal(error)
  const given: Record<string, string> = {}
  if (error.status === unauthenticated.status) given['WWW-Authenticate'] = 'Bearer'
  if (context.allow !== undefined) given.Allow = context.allow
  // Whoever is told that it does not work now is told when to try again. RFC 9110 §15.6.4
  const waitS = error.retryAfterS ?? (error.status === storeUnavailable.status ? 1 : undefined)
  if (waitS !== undefined) given['Retry-After'] = String(Math.max(1, Math.ceil(waitS)))
  return { status: error.status, headers: given, body: errorBody(error) }
}

/** Whether it is the end of what was done for a client that has left, by the signal that says so. */
function isOfDeparture({ isOver, outgoing }: RequestContext, thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'AbortError' && (isOver || outgoing.destroyed)
}

/** fastify has one error of its own here: a media type that is none. */
function asServiceError(thrown: unknown, { endpoint, incoming }: RequestContext): unknown {
  const isOfType =
    thrown instanceof Error && 'code' in thrown && thrown.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
  if (!isOfType || endpoint === undefined) return thrown
  return unsupportedMediaType(
    String(incoming.headers['content-type']).slice(0, 100),
    acceptedTypes(endpoint.route),
  )
}

/** The reply of an error, as it is kept for an Idempotency-Key. */
export function replyFromError({ core }: RequestContext, thrown: unknown): Reply {
  const error = answerableError(thrown, core.errors())
  return { status: error.status, body: errorBody(error) }
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
function answerableError(thrown: unknown, declared: readonly ErrorCode[]): ServiceError {
  if (!isServiceError(thrown)) return internal({ cause: thrown })
  if (thrown.code === pluginDependencyMissing.code) {
    return notReady('this route needs a plugin that is not loaded; load it', { cause: thrown })
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

/**
 * What the limit said that refused a request: it hangs on the `rate_limited` of the kernel and of `overLimit`.
 *
 * Undefined for a refusal that no named limit made (a login that was tried too often).
 */
function rateOfRefusal(error: ServiceError & { readonly rate?: unknown }): EdgeRate | undefined {
  return isRateState(error.rate) ? error.rate : undefined
}

function isRateState(value: unknown): value is EdgeRate {
  if (typeof value !== 'object' || value === null) return false
  return 'limit' in value && 'remaining' in value && 'resetS' in value
}
