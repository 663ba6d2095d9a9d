import { ERROR_CATALOGUE, type ErrorCode, type ErrorFactory, objectSchema } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'
import { tagsOf } from './groups.ts'
import { operationOf } from './operation.ts'

const HEADER_TEXT = { type: 'string' }
const HEADER_NUMBER = { type: 'integer', minimum: 0 }

/** The parts of the document that operations refer to. */
const COMPONENTS: Readonly<Record<string, unknown>> = {
  securitySchemes: {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'The environment admin token or a scoped token (`svc_…`) made by POST /v1/tokens.',
    },
    bootstrap: {
      type: 'http',
      scheme: 'bearer',
      description: 'An unused bootstrap token (`svcb_…`). Opens the enroll route alone, once.',
    },
    certificate: {
      type: 'mutualTLS',
      description:
        'A client certificate, where the service speaks TLS: of a node from the CA that admits nodes, of an operator from the CA of the box. ' +
        'With a bearer token beside it the token says who acts.',
    },
  },
  schemas: {
    Error: objectSchema(
      {
        error: objectSchema(
          {
            code: { type: 'string', description: 'Stable within v1. New codes may be added.' },
            message: { type: 'string', description: 'For people. Do not parse it.' },
            details: {
              type: 'array',
              description: 'Each broken rule, where there are several.',
              items: objectSchema(
                {
                  pointer: { type: 'string' },
                  message: { type: 'string' },
                  rule: { type: 'string', description: 'The JSON Schema keyword that is broken: `maximum`.' },
                  limit: {
                    type: ['number', 'string'],
                    description: 'Its bound, or the type or format that it asks for.',
                  },
                },
                ['pointer', 'message'],
              ),
            },
          },
          ['code', 'message'],
        ),
      },
      ['error'],
      {
        example: {
          error: {
            code: 'sim_not_found',
            message: 'there is no SIM 0123456789ab; look for it in the list of SIMs',
          },
        },
      },
    ),
  },
  parameters: {
    RequestId: {
      name: 'X-Request-Id',
      in: 'header',
      description:
        'Your name for this request, in every log line and audit entry of it. Others are replaced.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    },
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'A name that you give to this change. Repeating the request with the same key and body within 24 h answers ' +
        'the first result and changes nothing.',
      schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
      example: '7f1c9c7e-41f2-4a0b-9f0e-3f2f3b6a0c55',
    },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      description: 'The ETag of an earlier answer: when it still holds, the answer is 304 without a body.',
      schema: { type: 'string' },
    },
    IfMatch: {
      name: 'If-Match',
      in: 'header',
      description: 'The ETag of what was read: the change is refused when somebody else was first.',
      schema: { type: 'string' },
    },
    Limit: {
      name: 'limit',
      in: 'query',
      description: 'Page size.',
      schema: { type: 'integer', minimum: 1, maximum: 500, default: 50 },
    },
    Cursor: {
      name: 'cursor',
      in: 'query',
      description: 'The next_cursor of the page before, with the same filters. Opaque.',
      schema: { type: 'string', maxLength: 1_024 },
    },
  },
  headers: {
    RequestId: { description: 'The id of this request.', schema: HEADER_TEXT },
    Authenticate: { description: 'Bearer', schema: HEADER_TEXT },
    ETag: { description: 'The state that this is, for If-Match and If-None-Match.', schema: HEADER_TEXT },
    Replayed: { description: '`true` on the repeated answer of an Idempotency-Key.', schema: HEADER_TEXT },
    RetryAfter: { description: 'Seconds after which another try can succeed.', schema: HEADER_NUMBER },
    RateLimitLimit: { description: 'Allowed per hour.', schema: HEADER_NUMBER },
    RateLimitRemaining: { description: 'Left in this window.', schema: HEADER_NUMBER },
    RateLimitReset: { description: 'Seconds until the window ends.', schema: HEADER_NUMBER },
    RateLimit: { description: 'The same as a structured field: name, r, t.', schema: HEADER_TEXT },
    RateLimitPolicy: { description: 'The policy as a structured field: name, q, w.', schema: HEADER_TEXT },
  },
}

/** Codes whose message is written where they are thrown. */
const MEANINGS: ReadonlyMap<string, string> = new Map([
  [
    'validation_failed',
    'The request breaks a rule of the operation. The details name each value to correct.',
  ],
  ['capacity_exceeded', 'There is no room for more. The message says what is full.'],
  [
    'invalid_transition',
    'The lifecycle is not in the state that the request names. The message has both states.',
  ],
  ['node_state_conflict', 'The state of the node does not allow this. The message says why.'],
  ['peer_exists', 'Another peer has this name or key.'],
  ['plmn_mismatch', 'The IMSI belongs to another network.'],
  ['plugin_state_conflict', 'The state of the plugin does not allow this. The message has step and reason.'],
  [
    'settings_fixed',
    'A variable or a flag sets this key, or the service may not write the configuration file. Change it there.',
  ],
  ['sim_state_conflict', 'The state of the SIM does not allow this.'],
  ['sim_swap_cooldown', 'This subscriber got another SIM a short time ago. Wait as long as the policy says.'],
  ['tx_gate_closed', 'A condition for transmitting is not met. The details name each one.'],
  ['tx_not_armed', 'TX is not armed. Arm it first.'],
  ['not_ready', 'The service is not ready for this. Try again, after Retry-After when the answer has it.'],
  [
    'southbound_unavailable',
    'The core, its subscriber database or the radio does not answer. The message says which.',
  ],
  ['rate_limited', 'Too many requests in a short time. Try again after Retry-After.'],
])
/** More than any message has values. */
const VALUES: readonly string[] = ['…', '…', '…', '…']

/** Every code that an answer can carry, by status, with what it means: the service's and those of `plugins`. */
function errorCodes(plugins: readonly ErrorCode[]): readonly ErrorCode[] {
  const own = ERROR_CATALOGUE.map((factory) => ({
    code: factory.code,
    status: factory.status,
    meaning: MEANINGS.get(factory.code) ?? meaningOf(factory),
  }))
  const theirs = new Map(plugins.map((one) => [one.code, one]))
  return [...own, ...theirs.values()].sort((a, b) => a.status - b.status || (a.code < b.code ? -1 : 1))
}

function meaningOf(factory: ErrorFactory): string {
  return factory(...VALUES).message
}

type Json = Readonly<Record<string, unknown>>

/** The OpenAPI 3.1 document of the given endpoints. Pure: the same routes give the same document. */
export function openapiDocument(endpoints: readonly Endpoint[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {}
  const sorted = [...endpoints].sort((a, b) => (a.route.path < b.route.path ? -1 : 1))
  for (const endpoint of sorted) {
    const { route } = endpoint
    const path = route.path.replaceAll(/:([A-Za-z0-9_]+)/g, '{$1}')
    const operations = paths[path] ?? {}
    operations[route.method.toLowerCase()] = operationOf(endpoint)
    paths[path] = operations
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Steeple control plane',
      version,
      description:
        'REST API v1 of a mobile network in a box. Generated from the routes that serve now and the schemas that ' +
        'check requests. Enumerations in answers may grow within v1; error codes keep their meaning.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: tagsOf(endpoints),
    paths,
    components: COMPONENTS,
    'x-error-codes': errorCodes(endpoints.flatMap(({ errors }) => errors)),
  }
}
