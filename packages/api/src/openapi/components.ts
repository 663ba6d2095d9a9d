import { objectSchema } from '@steeple/contracts'

const HEADER_TEXT = { type: 'string' }
const HEADER_NUMBER = { type: 'integer', minimum: 0 }

/** The parts of the document that operations refer to. */
export const COMPONENTS: Readonly<Record<string, unknown>> = {
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
        'A client certificate, where the service speaks TLS: of a node from the CA of its mesh, of an operator from the CA of the box. ' +
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
              items: objectSchema({ pointer: { type: 'string' }, message: { type: 'string' } }, [
                'pointer',
                'message',
              ]),
            },
          },
          ['code', 'message'],
        ),
      },
      ['error'],
      { example: { error: { code: 'sim_not_found', message: 'there is no SIM 0123456789ab' } } },
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
