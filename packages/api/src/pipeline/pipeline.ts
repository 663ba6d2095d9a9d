import { isServiceError, type Reply, rowsHidden, validationFailed } from '@steeple/contracts'
import type { FastifyInstance, RouteOptions } from 'fastify'
import Fastify from 'fastify'
import type { EdgeCore } from '../edge-core.ts'
import { type Endpoint, MAX_PARAM_CHARS } from '../host/endpoint.ts'
import type { Generation } from '../host/generation.ts'
import { observe, observeEnd } from '../observe/http-metrics.ts'
import { credentials, roles } from './authenticate.ts'
import type { Concern, Handler } from './concern.ts'
import { idempotency } from './idempotency.ts'
import { bounds, headProblem, id, identify, originForm, tracing } from './identify.ts'
import { body } from './read-body.ts'
import type { RequestContext } from './request-context.ts'
import { answer, conditional, errors, headers, payloadOf, rateLimits, refusal, startHead } from './respond.ts'
import { admission } from './shares.ts'
import { validation } from './validate.ts'

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
    rewriteUrl: ({ url = '/' }) => originForm(url),
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
  return core.kernel.db.mayMissRows() ? reply.catch(asHidden) : reply
}

/** What a damaged store did not find may be there. */
function asHidden(thrown: unknown): never {
  throw isServiceError(thrown) && thrown.status === 404 ? rowsHidden({ cause: thrown }) : thrown
}
