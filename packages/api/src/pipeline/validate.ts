import {
  type ErrorDetail,
  invalidCursor,
  invalidLimit,
  type JsonSchema,
  type Page,
  validationFailed,
} from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'
import type { Cursors } from './cursor.ts'
import { acceptedTypes } from './read-body.ts'
import type { RequestContext } from './request-context.ts'
import type { Check } from './schema-checks.ts'
import { unknownNames } from './validation-details.ts'

/** Contract section 2. */
const DEFAULT_LIMIT = 50
/** Contract section 2. */
const MAX_LIMIT = 500
/** A longer limit is not repeated: it may be anything, the number of a subscriber too. */
const SHOWN_CHARS = 8

/** The query of a list route, split: `limit` and `cursor` on one side, filters on the other. */
interface PagedQuery {
  readonly limit: unknown
  readonly cursor: unknown
  readonly filters: Record<string, unknown>
}

/** Takes `limit` and `cursor` out of a query. */
function splitPage(query: Readonly<Record<string, unknown>>): PagedQuery {
  const { limit, cursor, ...filters } = query
  return { limit, cursor, filters }
}

/** What a cursor is bound to: the URL's path and its filters, whatever their order. */
function pageScope(path: string, filters: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([path, sorted])
}

/** The page that was asked for. Throws `invalid_limit`, `invalid_cursor`. */
function pageFrom(query: PagedQuery, scope: string, cursors: Cursors): Page {
  return {
    limit: limitFrom(query.limit),
    after: positionFrom(query.cursor, scope, cursors),
    cursor: (position) => cursors.seal(scope, position),
  }
}

function limitFrom(given: unknown): number {
  if (given === undefined) return DEFAULT_LIMIT
  if (typeof given !== 'string') throw invalidLimit('given more than once')
  const limit = /^[0-9]{1,3}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_LIMIT) throw invalidLimit(given.length <= SHOWN_CHARS ? given : 'too long')
  return limit
}

function positionFrom(given: unknown, scope: string, cursors: Cursors): Page['after'] {
  if (given === undefined) return undefined
  if (typeof given !== 'string') throw invalidCursor()
  return cursors.open(scope, given)
}

/** A refused body up to this size is explained in full; of a larger one the first broken rule is told. */
const EXPLAINED_BYTES = 65_536

/** The hash of an IMSI, the path parameter `{imsi}` of every route of one SIM. */
const HASH = /^[0-9a-f]{12}$/i

/** Kinds of bodies that are the handler's to check. */
const UNCHECKED: readonly RequestContext['bodyKind'][] = ['text', 'stream', 'bytes']

/** Checks path parameters and query, coerces them, and parses the page of a list route. */
export function validateUrl(context: RequestContext, endpoint: Endpoint): void {
  // Hexadecimal characters are the same in both cases.
  context.params = inLowerCase(context.params)
  if (endpoint.checkParams !== undefined) refuse(endpoint.checkParams, context.params, 'path parameter')
  // fastify's parser gives a plain object of strings and arrays of strings.
  const query = context.query as Record<string, unknown>
  if (endpoint.route.paged !== true) {
    validateQuery(endpoint, query)
    return
  }
  const paged = splitPage(query)
  const scope = pageScope(context.path, paged.filters)
  validateQuery(endpoint, paged.filters)
  context.query = paged.filters
  context.parsedPage = pageFrom(paged, scope, context.core.cursors)
}

function inLowerCase(params: unknown): unknown {
  const hash = (params as { readonly imsi?: unknown } | undefined)?.imsi
  return typeof hash === 'string' && HASH.test(hash)
    ? { ...Object(params), imsi: hash.toLowerCase() }
    : params
}

/** Checks a JSON body against the route's schema. A missing body counts as `{}` where nothing in it is required. */
export function validateBody(context: RequestContext, endpoint: Endpoint): void {
  if (UNCHECKED.includes(context.bodyKind)) return
  const schema = endpoint.route.schema?.body
  if (schema === undefined || endpoint.checkBody === undefined) {
    if (context.bodyKind === 'json') refuseUnexpected(context.body)
    return
  }
  if (context.bodyKind === 'none') {
    if (!isOptional(schema)) throw missingBody(endpoint)
    context.body = {}
  }
  refuse(endpoint.checkBody, context.body, 'body', context.bodyBytes?.length)
}

function missingBody({ route }: Endpoint): Error {
  return validationFailed(`the body is missing; send ${acceptedTypes(route)}`)
}

/** A route without a body schema takes no body, or the empty object. */
function refuseUnexpected(body: unknown): void {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  const names = isObject ? Object.keys(body) : undefined
  if (names?.length === 0) return
  const details = unknownNames('property', names ?? [])
  throw validationFailed('this route takes no body', details.length === 0 ? {} : { details })
}

function validateQuery(endpoint: Endpoint, query: Record<string, unknown>): void {
  if (endpoint.checkQuery !== undefined) {
    refuse(endpoint.checkQuery, query, 'query parameter')
    return
  }
  const names = Object.keys(query)
  if (names.length === 0) return
  throw failure('query parameter', unknownNames('parameter', names))
}

function refuse(check: Check, value: unknown, part: string, size = 0): void {
  const details = check(value, size <= EXPLAINED_BYTES)
  if (details !== undefined) throw failure(part, details)
}

function failure(part: string, details: readonly ErrorDetail[]): Error {
  const [first] = details
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : ''
  const where = first === undefined || first.pointer === '' ? part : `${part} ${first.pointer}`
  return validationFailed(`${where}: ${first?.message ?? 'not valid'}${more}`, { details })
}

function isOptional(schema: JsonSchema): boolean {
  const required = schema.required
  return schema.type === 'object' && (!Array.isArray(required) || required.length === 0)
}
