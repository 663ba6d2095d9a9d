import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  featureNotInstalled,
  isServiceError,
  methodNotAllowed,
  notFound,
  type Reply,
  rowsHidden,
  type ServiceError,
  validationFailed,
} from '@steeple/contracts'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import Fastify from 'fastify'
import type { EdgeCore } from '../edge-core.ts'
import { type Endpoint, fits, MAX_PARAM_CHARS, pageFor } from '../host/endpoint.ts'
import type { Generation } from '../host/generation.ts'
import { observe, observeEnd } from '../observe/http-metrics.ts'
import { credentials, roles } from './authenticate.ts'
import { type Concern, concern, type Handler } from './concern.ts'
import { idempotency } from './idempotency.ts'
import { body } from './read-body.ts'
import { RequestContext } from './request-context.ts'
import { answer, conditional, errors, headers, payloadOf, rateLimits, refusal, startHead } from './respond.ts'
import { admission } from './shares.ts'
import { validation } from './validate.ts'

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
function identify(
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

const id: Concern = concern('id', [], (app, core, generation) => {
  app.decorateRequest('context')
  app.addHook('onRequest', (request, reply, done) => {
    identify(core, generation, request, reply)
    done()
  })
})

/** W3C Trace Context §3.2: version 00, a trace and a span that are not zero, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** All that follows is a span that goes on with the trace of the caller. Route patterns, never URLs. */
const tracing: Concern = concern('tracing', ['id'], (app, { kernel }) => {
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
function headProblem({ incoming, outgoing, connection }: RequestContext): ServiceError | undefined {
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
function originForm(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*(?=[/?#]|$)/i, '') || '/'
  return /^[/?#]/.test(path) ? path : `/${path}`
}

/** People type and link pages of the documentation with a slash at their end. A path of the API has none, and no route says one. */
function pageForm(path: string): string {
  return path.replace(/^(\/docs\/[^?#]*[^?#/])\/+(?=[?#]|$)/, '$1')
}

/** Refuses heads that others may understand in another way, and what no route fits. Neither needs a credential. */
const bounds: Concern = concern('bounds', ['headers', 'observe'], (app, core) => {
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
  return absent === undefined
    ? notFound('such path; /v1/docs lists the routes')
    : featureNotInstalled(absent.plugin)
}

/** A prefix may have parameters: `/v1/sims/:imsi/quota`. */
function isUnder(path: string, prefix: string): boolean {
  const asked = path.split('/')
  const parts = prefix.split('/')
  return asked.length >= parts.length && fits(parts, asked.slice(0, parts.length))
}

/**
 * The way of a request, in order. Each concern is a plugin: its hooks run behind those of the plugins before it, and fastify refuses
 * one whose dependencies are not here.
 *
 * A connection (`host/connection.ts`) begins a request, fastify finds its route, and then:
 *
 * | hook of fastify    | plugins                                                                                    |
 * | ------------------ | ------------------------------------------------------------------------------------------ |
 * | `onRequest`        | id, observe, headers, tracing, bounds, credentials, roles, admission                       |
 * | `preParsing`       | body: what is refused for nothing but its sender is answered here                          |
 * | parsing            | body                                                                                       |
 * | `preValidation`    | validation: what no schema speaks of; then fastify checks path, body and query             |
 * | `preHandler`       | validation: the page; roles: once more, when the body came late                            |
 * | handler            | idempotency around the route's own                                                         |
 * | `preSerialization` | rate-limits, answer                                                                        |
 * | `onSend`           | admission: the next of theirs may begin; conditional                                       |
 *
 * What is thrown anywhere becomes an answer in `errors`, and goes on from `preSerialization`. Once the answer is out, or its client has
 * left, `RequestContext.over` lets each plugin do what is left.
 */
const CONCERNS: readonly Concern[] = [
  id,
  observe,
  headers,
  errors,
  tracing,
  bounds,
  credentials,
  roles,
  admission,
  body,
  validation,
  idempotency,
  rateLimits,
  answer,
  conditional,
]

/** The fastify instance of a generation, which never listens. Its routes are added by `addRoute`, behind its plugins. */
export async function createApp(core: EdgeCore, generation: Generation): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    logger: false,
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: () => '',
    rewriteUrl: ({ url = '/' }) => pageForm(originForm(url)),
    schemaController: {
      compilersFactory: { buildValidator: unasked, buildSerializer: unasked },
    },
    routerOptions: { maxParamLength: MAX_PARAM_CHARS },
    // A URL that cannot be read has no route, and fastify asks no hook about it.
    frameworkErrors: (_error, request, reply) => {
      const context = identify(core, generation, request, reply)
      observeEnd(context)
      startHead(context)
      const error = headProblem(context) ?? validationFailed('the URL is not correctly encoded')
      context.reply.send(payloadOf(context, refusal(context, error)))
    },
  })
  for (const concern of CONCERNS) await app.register(concern, { core, generation })
  // What has no route was refused by `bounds`, but for a page that finds its way by itself.
  app.setNotFoundHandler(((request) => handle(request.context)) satisfies Handler)
  return app
}

/** Compilers of fastify's own, which it would load: `validation` brings the one, and routes have no schema of their answers for the other. */
function unasked(): never {
  throw new Error('no schema is compiled by fastify itself')
}

/** Adds a route to an app of `createApp`. */
export function addRoute(app: FastifyInstance, endpoint: Endpoint): void {
  const { method, path } = endpoint.route
  app.route({
    method,
    url: path,
    config: { endpoint },
    schema: schemasOf(endpoint),
    handler: ((request) => handle(request.context)) satisfies Handler,
  })
}

/** What fastify checks. A body that is not JSON is the handler's to check. */
function schemasOf({ route }: Endpoint): NonNullable<RouteOptions['schema']> {
  const { params, query, body: ofBody } = route.schema ?? {}
  const types = ['application/json', ...(route.consumes ?? []).filter((type) => type.endsWith('json'))]
  const byType = { content: Object.fromEntries(types.map((type) => [type, { schema: ofBody }])) }
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(ofBody === undefined || route.rawBody === true
      ? {}
      : { body: route.consumes === undefined ? ofBody : byType }),
  }
}

function handle(context: RequestContext): Promise<Reply> {
  const { endpoint, core } = context
  if (endpoint === undefined) throw new Error('a request without a route was not refused')
  // Params, query and body were checked against the schemas that the handler's types stand for.
  const reply = endpoint.route.handle(context as never)
  return (core.kernel.db.mayMissRows() ? reply.catch(asHidden) : reply).then(given)
}

/** A handler of a plugin may give anything. */
function given(reply: Reply | undefined): Reply {
  if (typeof reply !== 'object' || reply === null)
    throw new TypeError('the handler of the route gave no reply')
  return reply
}

/** What a damaged store did not find may be there. */
function asHidden(thrown: unknown): never {
  throw isServiceError(thrown) && thrown.status === 404 ? rowsHidden({ cause: thrown }) : thrown
}
