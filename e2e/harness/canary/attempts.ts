import fc from 'fast-check'
import { isObject, valuesOf } from '../fuzz/values.ts'
import type { Sent } from '../http-client.ts'
import type { Json, Operation } from '../openapi.ts'

/** A request that carries a text where it does not belong, or where anything may be typed. */
export interface Attempt {
  readonly sent: Sent
  /** Where the text is. */
  readonly place: string
  /** The answer may name the text: it is what was asked for (`sim_not_found` names the hash that is unknown). */
  readonly mayEcho: boolean
}

/** The one field that a costly operation takes itself. */
const PASSPHRASE = 'x-backup-passphrase'
/** Header fields that people put secrets into, and that a service may be tempted to note. */
const FIELDS = [
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'cookie',
  PASSPHRASE,
  'x-api-key',
  'proxy-authorization',
  'user-agent',
  'referer',
  'origin',
  'accept',
  'accept-language',
  'content-type',
  'content-encoding',
  'x-forwarded-for',
  'x-custom',
]

const SCHEMES = ['', 'Bearer ', 'Basic ', 'Token ', 'Digest username=', 'Bearer x ', 'bearer  ']

/** What works longest for each answer: what all operations have alike is tried on the others, each place with each text many times. */
const COSTLY: readonly string[] = ['/v1/backup', '/v1/support/bundle']

/** Of the query, where no operation takes them. */
const UNDECLARED = ['unknown', 'token', 'access_token', 'password']

/**
 * The places of an operation in which a text can be misplaced: path, query, headers, credential, body of any kind.
 *
 * Each text alone is in each place that the operation describes, since what becomes of it there depends on the text. Of those that
 * are the same in all operations each has all texts at once, and one alone, but in costly ones: `turn`, another one for each operation,
 * says which.
 *
 * Places whose schema takes the text are left out: what is typed there is data, and `typedAttempts` has them.
 */
export function misplacedAttempts(
  operation: Operation,
  texts: readonly string[],
  authorization: string,
  turn: number,
): readonly Attempt[] {
  const anywhere = (text: string): readonly Attempt[] => [
    ...inQuery(operation, UNDECLARED, text, authorization),
    ...inHeaders(operation, text, authorization),
    ...inCredential(operation, text),
    ...asBody(operation, text, authorization),
  ]
  const declared = operation.parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name }) => name)
  // A round further along, it is another text: else every second operation would never see half of them.
  const isTurnOf = (nth: number, place: number): boolean =>
    (turn + Math.floor(turn / texts.length) + place) % texts.length === nth
  return [
    ...texts.flatMap((text) => [
      ...inPath(operation, text, authorization),
      ...inQuery(operation, declared, text, authorization),
      ...inBody(operation, text, authorization, false),
    ]),
    ...anywhere(texts.join(' ')),
    ...texts.flatMap((text, nth) =>
      anywhere(text).filter(
        ({ sent }, place) => isTurnOf(nth, place) && (!isCostly(operation) || PASSPHRASE in sent.headers),
      ),
    ),
  ]
}

function isCostly({ method, path }: Operation): boolean {
  return method === 'GET' && COSTLY.includes(path)
}

/** Every place of an operation where a text may be typed and is kept or looked for. */
export function typedAttempts(operation: Operation, text: string, authorization: string): readonly Attempt[] {
  return inBody(operation, text, authorization, true).map((attempt) => ({ ...attempt, mayEcho: true }))
}

/** What an operation answers to its own credentials, a bootstrap token and an expired token among them, and to one in place of a request id. */
export function tokenAttempts(
  operation: Operation,
  tokens: readonly string[],
  authorization: string,
): readonly Attempt[] {
  const path = operation.path.replaceAll(/\{[^}]+\}/g, 'ffffffffffff')
  const { method } = operation
  const asRequestId = isCostly(operation) ? tokens.slice(0, 1) : tokens
  return tokens.flatMap((token) => [
    ...(asRequestId.includes(token)
      ? [
          {
            place: 'request id',
            mayEcho: false,
            sent: { method, path, headers: { authorization, 'x-request-id': token } },
          },
        ]
      : []),
    {
      place: 'its own credential',
      mayEcho: false,
      sent: { method, path, headers: { authorization: `Bearer ${token}` } },
    },
  ])
}

/** Paths and methods that nobody serves, with the text in them, and what is not HTTP. */
export function strayAttempts(text: string, authorization: string): readonly Attempt[] {
  const part = encodeURIComponent(text)
  const paths = [
    `/${part}`,
    `/v1/${part}`,
    `/v1/sims/${part}`,
    `/v1/tokens/x/${part}`,
    `/v1/status/%zz${part}`,
  ]
  return paths.flatMap((path) =>
    ['GET', 'POST', 'PATCH', 'OPTIONS'].map((method) => ({
      place: 'a stray path',
      mayEcho: true,
      sent: { method, path, headers: { authorization } },
    })),
  )
}

function inPath(operation: Operation, text: string, authorization: string): readonly Attempt[] {
  const names = operation.parameters.filter((parameter) => parameter.in === 'path')
  return names.map(({ name }) => ({
    place: `path ${name}`,
    mayEcho: true,
    sent: {
      method: operation.method,
      path: operation.path.replaceAll(/\{[^}]+\}/g, encodeURIComponent(text)),
      headers: { authorization, 'idempotency-key': `path-${operation.object.operationId}-${text.length}` },
    },
  }))
}

function inQuery(
  operation: Operation,
  names: readonly string[],
  text: string,
  authorization: string,
): readonly Attempt[] {
  return names.map((name) => ({
    place: `query ${name}`,
    mayEcho: false,
    sent: {
      method: operation.method,
      path: `${plainPath(operation)}?${name}=${encodeURIComponent(text)}`,
      headers: { authorization },
    },
  }))
}

function inHeaders(operation: Operation, text: string, authorization: string): readonly Attempt[] {
  return FIELDS.map((name) => ({
    place: `header ${name}`,
    // The media type that is not accepted and the revision that is not current are named.
    mayEcho: name === 'content-type' || name === 'if-match',
    sent: {
      method: operation.method,
      path: plainPath(operation),
      headers: {
        'content-type': 'application/json',
        authorization,
        [name]: name === 'if-match' ? `"${text}"` : text,
      },
      body: operation.method === 'GET' ? undefined : '{}',
    },
  }))
}

function inCredential(operation: Operation, text: string): readonly Attempt[] {
  return SCHEMES.map((scheme) => ({
    place: `credential ${scheme}`,
    mayEcho: false,
    sent: { method: operation.method, path: plainPath(operation), headers: { authorization: scheme + text } },
  }))
}

function inBody(
  operation: Operation,
  text: string,
  authorization: string,
  isTyped: boolean,
): readonly Attempt[] {
  const schema = operation.object.requestBody?.content['application/json']?.schema
  if (schema === undefined) return []
  return variantsOf(schema, text)
    .filter(({ isAccepted }) => isAccepted === isTyped)
    .map(({ body, place }, index) => ({
      place: `body ${place}`,
      mayEcho: false,
      sent: {
        method: operation.method,
        path: plainPath(operation),
        headers: {
          authorization,
          'content-type': 'application/json',
          'idempotency-key': `${operation.object.operationId}-${isTyped}-${text.length}-${index}`,
        },
        body: JSON.stringify(body),
      },
    }))
}

/** The text as a body: JSON, broken JSON, a form, CSV, under media types that are not taken. */
function asBody(operation: Operation, text: string, authorization: string): readonly Attempt[] {
  const bodies: readonly (readonly [type: string, body: string])[] = [
    ['application/json', JSON.stringify(text)],
    ['application/json', JSON.stringify([text])],
    ['application/json', `{"name":"${text}"`],
    ['application/json', `{"name":${text}}`],
    ['application/json', `${text}`],
    ['application/json', `{"__proto__":"${text}"}`],
    ['application/x-www-form-urlencoded', `password=${encodeURIComponent(text)}`],
    ['text/plain', text],
    ['text/csv', `imsi,ki\n${text},${text}\n`],
  ]
  return bodies.map(([type, body]) => ({
    place: `body as ${type}`,
    mayEcho: false,
    sent: {
      method: operation.method,
      path: plainPath(operation),
      headers: { authorization, 'content-type': type },
      body,
    },
  }))
}

/** A path that is served; what its parameters name does not exist. */
function plainPath({ path }: Operation): string {
  return path.replaceAll(/\{[^}]+\}/g, (parameter) =>
    parameter === '{imsi}'
      ? 'ffffffffffff'
      : parameter === '{name}'
        ? 'nobody'
        : '00000000-0000-4000-8000-000000000000',
  )
}

/** A body that holds a text in one of its places. */
interface Variant {
  readonly body: unknown
  /** The property, dotted. */
  readonly place: string
  /** Whether the schema of that place takes the text. */
  readonly isAccepted: boolean
}

/** Bodies that fit the schema but for one place each, which holds the text: every place of the schema in turn. */
function variantsOf(schema: Json, text: string): readonly Variant[] {
  if (schema.type === 'object' || (Array.isArray(schema.type) && schema.type.includes('object'))) {
    return objectVariants(schema, text)
  }
  if (schema.type === 'array') {
    const items = isObject(schema.items) ? schema.items : {}
    return variantsOf(items, text).map(({ body, place, isAccepted }) => ({
      body: [body],
      place: `[].${place}`,
      isAccepted,
    }))
  }
  return [{ body: text, place: '', isAccepted: accepts(schema, text) }]
}

function objectVariants(schema: Json, text: string): readonly Variant[] {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const base = baseOf(schema)
  const variants = Object.entries(properties).flatMap(([name, inner]) =>
    variantsOf(inner as Json, text).map(({ body, place, isAccepted }) => ({
      body: { ...base, [name]: body },
      place: place === '' ? name : `${name}.${place}`,
      isAccepted,
    })),
  )
  if (!isObject(schema.additionalProperties)) {
    return [
      ...variants,
      { body: { ...base, unknown_property: text }, place: 'unknown_property', isAccepted: false },
    ]
  }
  const inner = variantsOf(schema.additionalProperties, text)
  return [
    ...variants,
    ...inner.map((one) => ({ ...one, body: { ...base, member: one.body }, place: `member.${one.place}` })),
  ]
}

/** The required properties, fitting. The same at each call. */
function baseOf(schema: Json): Record<string, unknown> {
  const required = Array.isArray(schema.required) ? schema.required.map(String) : []
  const properties = isObject(schema.properties) ? schema.properties : {}
  return Object.fromEntries(
    required.map((name) => [
      name,
      fc.sample(valuesOf((properties[name] ?? {}) as Json), { numRuns: 1, seed: 7 })[0],
    ]),
  )
}

/** Whether a schema takes a text as far as its type, length, pattern and list of values say. */
function accepts(schema: Json, text: string): boolean {
  const types = schema.type === undefined ? ['string'] : [schema.type].flat()
  if (!types.includes('string')) return false
  if (Array.isArray(schema.enum)) return schema.enum.includes(text)
  if (schema.format !== undefined) return false
  if (typeof schema.maxLength === 'number' && text.length > schema.maxLength) return false
  return typeof schema.pattern !== 'string' || new RegExp(schema.pattern, 'u').test(text)
}
