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
import { exampleOf } from './example.ts'
import { groupOf } from './groups.ts'
import { isSchema, requestSchema, responseSchema } from './schema-text.ts'

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
      ...(isConditional(route) ? { '304': notModified() } : {}),
      ...failuresOf(endpoint),
    },
  }
}

/** `GET /v1/nodes/:id` becomes `get_v1_nodes_id`, `GET /` `get_root`. */
function operationId({ method, path }: Route): string {
  return method.toLowerCase() + (path === '/' ? '_root' : path.replaceAll(/[^A-Za-z0-9]+/g, '_'))
}

/** One of them is enough. */
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
