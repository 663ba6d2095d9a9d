import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  featureNotInstalled,
  methodNotAllowed,
  notFound,
  type ServiceError,
  validationFailed,
} from '@steeple/contracts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EdgeCore } from '../edge-core.ts'
import { fits, pageFor } from '../host/endpoint.ts'
import type { Generation } from '../host/generation.ts'
import { type Concern, concern } from './concern.ts'
import { RequestContext } from './request-context.ts'

/** Contract section 2: what a client may choose. */
const GIVEN = /^[A-Za-z0-9._-]{1,64}$/

/**
 * A token of ours, or most of one, somewhere in the text. Whoever pastes one here by mistake must not have it in every
 * log line and audit entry.
 */
const TOKEN = /svcb?_[A-Za-z0-9_-]{32}/

/** The request id: the client's `X-Request-Id` when it is 1 to 64 of `[A-Za-z0-9._-]`, otherwise a new UUID. */
export function requestIdFrom(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && GIVEN.test(header) && !TOKEN.test(header) ? header : randomUUID()
}

/** Gives the request its id and its route. A path without a route shows the page that finds its way by itself, if a browser asks. */
export function identify(
  core: EdgeCore,
  generation: Generation,
  request: FastifyRequest,
  reply: FastifyReply,
): RequestContext {
  const endpoint = request.is404
    ? pageFor(request.raw, generation.endpoints, core.kernel.features())
    : request.routeOptions.config.endpoint
  const id = requestIdFrom(request.headers['x-request-id'])
  const context = new RequestContext(core, endpoint, id, request, reply)
  request.context = context
  generation.enter(context)
  return context
}

/** Names the request. */
export const id: Concern = concern('id', [], (app, core, generation) => {
  app.decorateRequest('context')
  app.addHook('onRequest', (request, reply, done) => {
    identify(core, generation, request, reply)
    done()
  })
})

/** W3C Trace Context §3.2: version 00, a trace and a span that are not zero, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** All that follows is a span that goes on with the trace of the caller. Route patterns, never URLs. */
export const tracing: Concern = concern('tracing', ['id'], (app, { kernel }) => {
  app.addHook('onRequest', ({ context, headers: { traceparent }, method }, _reply, done) => {
    if (kernel.tracing?.isOn !== true || context.endpoint === undefined) {
      done()
      return
    }
    const { tracing } = kernel
    const facts = {
      name: `${method} ${context.pattern}`,
      kind: 'server' as const,
      attributes: { 'http.request.method': method, 'http.route': context.pattern },
      ...(typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? { parent: traceparent } : {}),
    }
    // A connection serves many: nothing that another request was a part of counts here.
    void tracing.detached(() =>
      tracing.span(facts, (span) => {
        const { promise, resolve } = Promise.withResolvers<void>()
        context.onOver(() => {
          span?.set('http.response.status_code', context.outgoing.statusCode)
          resolve()
        })
        done()
        return promise
      }),
    )
  })
})

/** Headers of which a proxy and this service must not see different ones, by length. */
const SINGLE: ReadonlyMap<number, string> = new Map(
  ['Host', 'Authorization', 'X-Backup-Passphrase', 'Idempotency-Key'].map((name) => [name.length, name]),
)

/** Why a request with this head is not served; undefined when nothing forbids it. */
export function headProblem({ incoming, outgoing, connection }: RequestContext): ServiceError | undefined {
  const framing = framingProblem(incoming)
  if (framing !== undefined) {
    // Nobody can be sure where this request ends: nothing behind it on its connection is read.
    outgoing.shouldKeepAlive = false
    connection.endNext()
    return validationFailed(framing)
  }
  const { headers, httpVersion, rawHeaders, url = '' } = incoming
  const repeated = repeatedHeader(rawHeaders)
  if (repeated !== undefined) return validationFailed(`the header ${repeated} was sent twice`)
  // RFC 9112 §3.2
  if (headers.host === undefined && httpVersion === '1.1')
    return validationFailed('the header Host is missing')
  return hasReadableQuery(url)
    ? undefined
    : validationFailed('the query is not percent-encoded UTF-8 (RFC 3986 §2.1); write % itself as %25')
}

/** Node takes any version and any list of codings that ends in `chunked` (RFC 9112 §2.3, §6.1). */
function framingProblem({ headers, httpVersion }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return `HTTP/${httpVersion} is not spoken here; send HTTP/1.1`
  }
  const coding = headers['transfer-encoding']
  if (coding === undefined) return undefined
  if (httpVersion === '1.0') return 'HTTP/1.0 has no Transfer-Encoding; send Content-Length or HTTP/1.1'
  if (coding.trim().toLowerCase() === 'chunked') return undefined
  return 'the only Transfer-Encoding that is read is chunked; send the body as it is'
}

/**
 * The name of a header that decides who asks for what and was sent twice; undefined when there is none. Node keeps the
 * first of them without a word, somebody in front of us might have looked at the second (RFC 9110 §5.3, RFC 9112 §3.2).
 *
 * `raw` are names and values in turn.
 */
function repeatedHeader(raw: readonly string[]): string | undefined {
  let seen = 0
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const single = SINGLE.get(name.length)
    if (single === undefined || name.toLowerCase() !== single.toLowerCase()) continue
    const bit = 1 << name.length
    if ((seen & bit) !== 0) return single
    seen |= bit
  }
  return undefined
}

/** Whoever reads another one takes the octets as they are, or others: a filter would look for what nobody has asked for. */
function hasReadableQuery(url: string): boolean {
  const start = url.indexOf('?')
  if (start < 0 || !url.includes('%', start)) return true
  try {
    decodeURIComponent(url.slice(start))
    return true
  } catch {
    return false
  }
}

/** RFC 9112 §3.2.2: a server takes the absolute form too. What is of no form (`GET *`) is a path that nothing has. */
export function originForm(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*(?=[/?#]|$)/i, '') || '/'
  return /^[/?#]/.test(path) ? path : `/${path}`
}

/** Refuses heads that others may understand in another way, and what no route fits. Neither needs a credential. */
export const bounds: Concern = concern('bounds', ['headers', 'observe'], (app, core) => {
  app.addHook('onRequest', ({ context }, _reply, done) => {
    done(headProblem(context) ?? (context.endpoint === undefined ? unmatched(context, core) : undefined))
  })
})

/**
 * Why no route fits: the method is wrong (405 and `Allow`), the feature is not here (404 `feature_not_installed`), or there is
 * nothing (404 `not_found`). The document of all routes is public.
 */
function unmatched(context: RequestContext, { memory, kernel }: EdgeCore): ServiceError {
  const { path } = context
  const method = context.incoming.method ?? 'GET'
  const withdrawn = memory.withdrawn(method === 'HEAD' ? 'GET' : method, path)
  if (withdrawn !== undefined) return featureNotInstalled(withdrawn)
  const methods = memory.methodsOf(path)
  // A path whose method is among them did not fit for another reason: some escape in it.
  if (methods.length > 0 && !methods.includes(method)) {
    context.allow = methods.join(', ')
    return methodNotAllowed(method, context.allow)
  }
  const absent = kernel.features().find(({ prefix }) => isUnder(path, prefix) && !memory.hasUnder(prefix))
  return absent === undefined ? notFound('such path') : featureNotInstalled(absent.plugin)
}

/** A prefix may have parameters: `/v1/sims/:imsi/quota`. */
function isUnder(path: string, prefix: string): boolean {
  const asked = path.split('/')
  const parts = prefix.split('/')
  return asked.length >= parts.length && fits(parts, asked.slice(0, parts.length))
}
