import {
  bodyTooLarge,
  bootstrapTokenInvalid,
  certificateRevoked,
  ERROR_CATALOGUE,
  expandRoles,
  featureNotInstalled,
  forbidden,
  headersTooLarge,
  idempotencyInProgress,
  idempotencyKeyReused,
  internal,
  invalidCursor,
  invalidLimit,
  type JsonSchema,
  malformedJson,
  notReady,
  ROLES,
  type Route,
  rateLimited,
  requestTimeout,
  storeCorrupt,
  storeUnavailable,
  tokenExpired,
  unauthenticated,
  unsupportedMediaType,
  validationFailed,
} from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'
import { groupOf } from './groups.ts'

const GROWS = 'More values may be added within v1: treat an unknown one as something new, not as an error.'

type Change = (schema: JsonSchema) => JsonSchema

/** A response schema with a word to clients at each enumeration: it may grow (contract section 2). */
function responseSchema(schema: JsonSchema): JsonSchema {
  return mapped(schema, (one) => growing(portable(one)))
}

/** A request schema as foreign programs read it. */
function requestSchema(schema: JsonSchema): JsonSchema {
  return mapped(schema, portable)
}

/** Without a pattern of Unicode classes, which regular expressions of Python, Go and Rust have in other forms or not at all. */
function portable({ pattern, ...rest }: JsonSchema): JsonSchema {
  const isForeign = typeof pattern === 'string' && /\\p\{/.test(pattern)
  return pattern === undefined || isForeign ? rest : { ...rest, pattern }
}

function growing(schema: JsonSchema): JsonSchema {
  if (!Array.isArray(schema.enum)) return schema
  const { description } = schema
  return {
    ...schema,
    description: typeof description === 'string' ? `${description} ${GROWS}` : GROWS,
    'x-growable': true,
  }
}

function mapped(schema: JsonSchema, change: Change): JsonSchema {
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) copy[keyword] = copied(keyword, value, change)
  return change(copy)
}

/** Keywords whose members are schemas by name. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])
/** Keywords that hold one schema or several. */
const NESTED = new Set([
  'items',
  'prefixItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
  'unevaluatedProperties',
])

function copied(keyword: string, value: unknown, change: Change): unknown {
  if (NAMED.has(keyword) && isSchema(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, nested(member, change)]))
  }
  return NESTED.has(keyword) ? nested(value, change) : value
}

function nested(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((one) => nested(one, change))
  return isSchema(value) ? mapped(value, change) : value
}

/** Whether a value is a schema object (a schema may be a boolean too, which has nothing to say). */
function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** No text of ours is longer; a longer least length has no example. */
const MOST_CHARS = 64
/** Texts that patterns of ours accept. The first that fits is the example. */
const TEXTS: readonly string[] = [
  'example',
  '2026-11-21T08:00:00.000Z',
  '90d',
  '0a1b2c3d4e5f',
  '7f1c9c7e-41f2-4a0b-9f0e-3f2f3b6a0c55',
  'internet',
  '999990000000001',
  '999-70',
  '99970',
  '999',
  '70',
  '1.0.0',
  '192.0.2.1',
  '192.0.2.0/24',
  'https://example.org/',
  'b3',
  '00112233445566778899aabbccddeeff',
  '9'.repeat(40),
  'a'.repeat(64),
  'a'.repeat(43),
]

/**
 * A value that fits the schema, for people to begin with: what the schema itself gives as an example or default,
 * otherwise the least that is required of requests, everything of answers. Undefined when none is found.
 */
export function exampleOf(schema: JsonSchema, isAnswer: boolean, name = ''): unknown {
  const given = givenBy(schema)
  if (given !== undefined) return given
  const members = schema.anyOf ?? schema.oneOf
  if (Array.isArray(members) && schema.properties === undefined) return firstOf(members, isAnswer, name)
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type
  switch (type ?? (isSchema(schema.properties) ? 'object' : undefined)) {
    case 'object':
      return objectExample(schema, isAnswer)
    case 'array':
      return listExample(schema, isAnswer, name)
    case 'string':
      return textExample(schema, name)
    case 'boolean':
      return true
    case 'integer':
    case 'number':
      return numberExample(schema)
    default:
      return undefined
  }
}

function givenBy({ examples, const: only, default: usual, enum: choices }: JsonSchema): unknown {
  if (Array.isArray(examples) && examples.length > 0) return examples[0]
  return only ?? usual ?? (Array.isArray(choices) ? choices[0] : undefined)
}

function firstOf(members: readonly unknown[], isAnswer: boolean, name: string): unknown {
  const values = members.map((one) => (isSchema(one) ? exampleOf(one, isAnswer, name) : undefined))
  return values.find((value) => value !== undefined && value !== null)
}

function objectExample(schema: JsonSchema, isAnswer: boolean): unknown {
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const example: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(properties)) {
    if (!isAnswer && !required.has(name)) continue
    const given = isSchema(value) ? exampleOf(value, isAnswer, name) : undefined
    if (given !== undefined) example[name] = given
    else if (required.has(name)) return undefined
  }
  return example
}

function listExample(schema: JsonSchema, isAnswer: boolean, name: string): unknown {
  const item = isSchema(schema.items) ? exampleOf(schema.items, isAnswer, name) : undefined
  if (item === undefined) return schema.minItems === undefined || schema.minItems === 0 ? [] : undefined
  const least = typeof schema.minItems === 'number' ? schema.minItems : 1
  return least <= 1 ? [item] : undefined
}

function textExample(schema: JsonSchema, name: string): string | undefined {
  const least = typeof schema.minLength === 'number' ? schema.minLength : 0
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : MOST_CHARS
  const pattern = typeof schema.pattern === 'string' ? new RegExp(schema.pattern, 'u') : undefined
  const fits = (text: string): boolean =>
    text.length >= least && text.length <= most && pattern?.test(text) !== false
  const isTime = schema.format === 'date-time' || /(^|_)at$|^from$|^to$|^since$/.test(name)
  const first = isTime ? [TEXTS[1] ?? '', ...TEXTS] : TEXTS
  return [...first, 'x'.repeat(least)].find(fits)
}

function numberExample({ minimum, maximum, exclusiveMinimum }: JsonSchema): number {
  const low =
    typeof minimum === 'number' ? minimum : typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : 1
  return typeof maximum === 'number'
    ? Math.min(Math.max(low, Math.min(1, maximum)), maximum)
    : Math.max(low, 1)
}

/** What any request can meet. */
const ALWAYS: readonly string[] = [
  validationFailed.code,
  headersTooLarge.code,
  internal.code,
  storeCorrupt.code,
  storeUnavailable.code,
  notReady.code,
]
const WITH_BODY: readonly string[] = [
  malformedJson.code,
  requestTimeout.code,
  bodyTooLarge.code,
  unsupportedMediaType.code,
]
const IDEMPOTENT: readonly string[] = [idempotencyKeyReused.code, idempotencyInProgress.code]

/** Statuses by code, for every code of the service's own. */
const STATUS_OF: ReadonlyMap<string, number> = new Map(
  ERROR_CATALOGUE.map((factory): [string, number] => [factory.code, factory.status]),
)

/** Whether the route honours an `Idempotency-Key`. */
function isIdempotent(route: Route): boolean {
  return route.method !== 'GET' && route.role !== 'public' && route.path.startsWith('/v1/')
}

/** Every code that the endpoint can answer, by status, both in order. */
function errorsByStatus(endpoint: Endpoint): ReadonlyMap<number, readonly string[]> {
  const grouped = new Map<number, string[]>()
  for (const code of new Set(codesOf(endpoint))) {
    const status = STATUS_OF.get(code) ?? endpoint.errors.find((one) => one.code === code)?.status
    if (status === undefined) continue
    const group = grouped.get(status) ?? []
    group.push(code)
    grouped.set(status, group)
  }
  return new Map([...grouped].sort(([a], [b]) => a - b).map(([status, codes]) => [status, codes.sort()]))
}

function codesOf({ route, isSystem, isMutating }: Endpoint): readonly string[] {
  return [
    ...ALWAYS,
    ...accessCodes(route),
    ...(isSystem ? [] : [featureNotInstalled.code]),
    ...(route.paged === true ? [invalidLimit.code, invalidCursor.code] : []),
    ...(isMutating ? WITH_BODY : []),
    ...(isIdempotent(route) ? IDEMPOTENT : []),
    ...(route.urgent === true && route.role === 'public' ? [] : [rateLimited.code]),
    ...(route.errors ?? []),
  ]
}

function accessCodes(route: Route): readonly string[] {
  if (route.role === 'public') return []
  const codes = [unauthenticated.code, tokenExpired.code, certificateRevoked.code, forbidden.code]
  return route.role === 'bootstrap' ? [...codes, bootstrapTokenInvalid.code] : codes
}

type Json = Readonly<Record<string, unknown>>

const JSON_TYPE = 'application/json'

/** The operation object of an endpoint. */
export function operationOf(endpoint: Endpoint): Json {
  const { route, plugin } = endpoint
  return {
    operationId: operationId(route),
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [groupOf(endpoint).group],
    'x-plugin': plugin,
    security: securityOf(route),
    'x-roles': rolesOf(route),
    ...(route.method === 'GET' || typeof route.audit !== 'string' ? {} : { 'x-audit-action': route.audit }),
    parameters: parametersOf(route),
    ...requestBodyOf(endpoint),
    responses: {
      [String(route.schema?.status ?? 200)]: successOf(route),
      ...(route.method === 'GET' && route.redirects === true ? { '302': redirected() } : {}),
      ...(isConditional(route) ? { '304': notModified() } : {}),
      ...failuresOf(endpoint),
    },
  }
}

/** `GET /v1/nodes/:id` becomes `get_v1_nodes_id`, `GET /` `get_root`. */
function operationId({ method, path }: Route): string {
  return method.toLowerCase() + (path === '/' ? '_root' : path.replaceAll(/[^A-Za-z0-9]+/g, '_'))
}

function securityOf({ role, nodeToo }: Route): readonly Json[] {
  if (role === 'public') return []
  if (role !== 'bootstrap') return [{ bearer: [] }, { certificate: [] }]
  return nodeToo === true ? [{ bootstrap: [] }, { certificate: [] }] : [{ bootstrap: [] }]
}

/** Every role that opens the route. */
function rolesOf(route: Route): readonly string[] {
  const { role } = route
  if (role === 'public') return []
  const holders: string[] =
    role === 'bootstrap' ? ['bootstrap'] : ROLES.filter((one) => expandRoles([one]).has(role))
  return route.nodeToo === true ? [...new Set([...holders, 'node'])] : holders
}

function parametersOf(route: Route): readonly Json[] {
  return [
    ...fromProperties('path', route.schema?.params),
    ...fromProperties('query', route.schema?.query).filter(
      ({ name }) => route.paged !== true || (name !== 'limit' && name !== 'cursor'),
    ),
    ...(route.paged === true ? [reference('parameters/Limit'), reference('parameters/Cursor')] : []),
    ...(isIdempotent(route) ? [reference('parameters/IdempotencyKey')] : []),
    ...(isConditional(route) ? [reference('parameters/IfNoneMatch')] : []),
    ...(isGuarded(route) ? [reference('parameters/IfMatch')] : []),
    reference('parameters/RequestId'),
    ...undeclaredParams(route),
  ]
}

function fromProperties(
  place: 'path' | 'query',
  schema: JsonSchema | undefined,
): readonly (Json & { name: string })[] {
  const properties = schema?.properties
  if (!isSchema(properties)) return []
  const required = schema?.required
  return Object.entries(properties).map(([name, value]) => ({
    name,
    in: place,
    required: place === 'path' || (Array.isArray(required) && required.includes(name)),
    ...(isSchema(value) && typeof value.description === 'string' ? { description: value.description } : {}),
    schema: value,
  }))
}

/** Parameters in the path that the route gives no schema. */
function undeclaredParams(route: Route): readonly Json[] {
  const properties = route.schema?.params?.properties
  const names = [...route.path.matchAll(/:([A-Za-z0-9_]+)/g)].map((match) => match[1] ?? '')
  return names
    .filter((name) => !isSchema(properties) || !(name in properties))
    .map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
}

function requestBodyOf({ route, bodyLimit }: Endpoint): Json {
  const body = route.schema?.body
  if (route.method === 'GET' || (body === undefined && route.consumes === undefined)) return {}
  const content: Record<string, Json> = {}
  if (body !== undefined)
    content[JSON_TYPE] = {
      schema: requestSchema(body),
      ...withExample(route.example ?? exampleOf(body, false)),
    }
  for (const type of route.consumes ?? []) content[type] ??= { schema: contentSchema(type) }
  const required = body?.required
  const isRequired =
    body === undefined || body.type !== 'object' || (Array.isArray(required) && required.length > 0)
  return { requestBody: { required: isRequired, description: `At most ${sizeText(bodyLimit)}.`, content } }
}

/** 1048576 is 1 MiB; what is no whole number of KiB is told in bytes. */
function sizeText(bytes: number): string {
  if (bytes % 1_073_741_824 === 0) return `${bytes / 1_073_741_824} GiB`
  if (bytes % 1_048_576 === 0) return `${bytes / 1_048_576} MiB`
  return bytes % 1_024 === 0 ? `${bytes / 1_024} KiB` : `${bytes} bytes`
}

function successOf(route: Route): Json {
  const { response, status } = route.schema ?? {}
  const headers = {
    'X-Request-Id': reference('headers/RequestId'),
    ...(isConditional(route) || isGuarded(route) ? { ETag: reference('headers/ETag') } : {}),
    ...(isIdempotent(route) ? { 'Idempotency-Replayed': reference('headers/Replayed') } : {}),
    ...(isLimited(route) ? rateHeaderRefs() : {}),
  }
  const types = route.produces ?? (response === undefined ? [] : [JSON_TYPE])
  const content = Object.fromEntries(
    types.map((type) => [
      type,
      type.endsWith('json') && response !== undefined
        ? { schema: responseSchema(response), ...withExample(exampleOf(response, true)) }
        : { schema: contentSchema(type) },
    ]),
  )
  const description = status === 204 ? 'Done; nothing to show.' : 'Done.'
  return types.length === 0 ? { description, headers } : { description, headers, content }
}

/** Any JSON, text, or octets as generators know them. */
function contentSchema(type: string): Json {
  if (type.endsWith('json')) return {}
  return type.startsWith('text/') || type.endsWith('xml')
    ? { type: 'string' }
    : { type: 'string', format: 'binary' }
}

function withExample(example: unknown): Json {
  return example === undefined ? {} : { example }
}

function isConditional(route: Route): boolean {
  return route.method === 'GET' && route.conditional === true
}

function isGuarded(route: Route): boolean {
  return route.method !== 'GET' && route.guarded === true
}

function notModified(): Json {
  const headers = { 'X-Request-Id': reference('headers/RequestId'), ETag: reference('headers/ETag') }
  return { description: 'Still what the If-None-Match names.', headers }
}

function redirected(): Json {
  const headers = {
    'X-Request-Id': reference('headers/RequestId'),
    Location: { description: 'The address of what is meant.', schema: { type: 'string' } },
  }
  return { description: 'It is at the address in Location.', headers }
}

function failuresOf(endpoint: Endpoint): Readonly<Record<string, Json>> {
  const failures = [...errorsByStatus(endpoint)].map(([status, codes]): [string, Json] => [
    String(status),
    {
      description: codes.map((code) => `\`${code}\``).join(', '),
      headers: failureHeaders(status, endpoint.route),
      content: { [JSON_TYPE]: { schema: errorSchema(codes) } },
    },
  ])
  return Object.fromEntries(failures)
}

function failureHeaders(status: number, route: Route): Json {
  const retries = status === rateLimited.status || status === 503
  return {
    'X-Request-Id': reference('headers/RequestId'),
    ...(status === unauthenticated.status ? { 'WWW-Authenticate': reference('headers/Authenticate') } : {}),
    ...(retries ? { 'Retry-After': reference('headers/RetryAfter') } : {}),
    ...(status === rateLimited.status && isLimited(route) ? rateHeaderRefs() : {}),
  }
}

function errorSchema(codes: readonly string[]): Json {
  const code = { enum: codes }
  return {
    allOf: [reference('schemas/Error'), { properties: { error: { properties: { code } } } }],
  }
}

function isLimited(route: Route): boolean {
  return route.method !== 'GET' && route.rateLimit !== undefined
}

function rateHeaderRefs(): Json {
  return {
    'RateLimit-Limit': reference('headers/RateLimitLimit'),
    'RateLimit-Remaining': reference('headers/RateLimitRemaining'),
    'RateLimit-Reset': reference('headers/RateLimitReset'),
    RateLimit: reference('headers/RateLimit'),
    'RateLimit-Policy': reference('headers/RateLimitPolicy'),
  }
}

function reference(part: string): Json {
  return { $ref: `#/components/${part}` }
}
