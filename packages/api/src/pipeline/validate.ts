import type { IncomingMessage } from 'node:http'
import {
  DURATION_PATTERN,
  type ErrorDetail,
  invalidCursor,
  invalidLimit,
  type JsonSchema,
  NAME_PATTERN,
  type Page,
  PLAIN_TEXT_PATTERN,
  validationFailed,
} from '@steeple/contracts'
import type { ErrorObject } from 'ajv'
import type { Endpoint } from '../host/endpoint.ts'
import type { Cursors } from './cursor.ts'
import { acceptedTypes } from './read-body.ts'
import type { RequestContext } from './request-context.ts'
import type { Check } from './schema-checks.ts'

/** Headers of which a proxy and this service must not see different ones, by length. */
const SINGLE: ReadonlyMap<number, string> = new Map(
  ['Host', 'Authorization', 'X-Backup-Passphrase', 'Idempotency-Key'].map((name) => [name.length, name]),
)

/** What forbids to serve a request. */
export interface RequestProblem {
  readonly message: string
  /** Nobody can be sure where this request ends: nothing behind it on its connection is read. */
  readonly isFraming: boolean
}

/** What forbids to serve a request with these headers; undefined when nothing does. */
export function headerProblem(incoming: IncomingMessage): RequestProblem | undefined {
  const framing = framingProblem(incoming)
  if (framing !== undefined) return { message: framing, isFraming: true }
  const { headers, httpVersion, rawHeaders } = incoming
  const repeated = repeatedHeader(rawHeaders)
  if (repeated !== undefined) return { message: `the header ${repeated} was sent twice`, isFraming: false }
  // RFC 9112 §3.2
  const isNameless = headers.host === undefined && httpVersion === '1.1'
  return isNameless ? { message: 'the header Host is missing', isFraming: false } : undefined
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

const WORDS: ReadonlyMap<string, string> = new Map([
  [PLAIN_TEXT_PATTERN, 'text without control characters'],
  [NAME_PATTERN, 'text without control characters, and not of spaces alone'],
  [DURATION_PATTERN, 'a duration such as 15s, 5m or 1h30m'],
  ['^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 'a UUID in lower case'],
  ['^[A-Z]{2}$', 'two capital letters'],
  ['^[bn][1-9][0-9]{0,2}$', 'a band such as b3 or n78'],
])
const DIGITS = /^\^\[0-9(a-f)?\]\{(\d+)(?:,(\d+))?\}\$$/

/** What a pattern asks for, in words: a regular expression tells nobody what to write. */
export function patternWords(pattern: string): string {
  const known = WORDS.get(pattern)
  if (known !== undefined) return `must be ${known}`
  const [whole, hex, least, most] = DIGITS.exec(pattern) ?? []
  if (whole === undefined)
    return 'has characters, or a form, that is not allowed here; see its description in /v1/openapi.json'
  const count = most === undefined ? least : `${least} to ${most}`
  return `must be ${count} ${hex === undefined ? 'digits' : 'hexadecimal digits in lower case'}`
}

/** At most so many broken rules are listed. */
const MAX_DETAILS = 32
/** Names come from the request; longer ones are cut. */
const MAX_NAME_CHARS = 80
/** What each rule about a length says, and of what. */
const LIMITS: Readonly<Record<string, readonly [bound: string, one: string, many: string]>> = {
  minLength: ['at least', 'character', 'characters'],
  maxLength: ['at most', 'character', 'characters'],
  minItems: ['at least', 'entry', 'entries'],
  maxItems: ['at most', 'entry', 'entries'],
}

/** ajv's errors as details: a JSON pointer (RFC 6901) and a message that names rules and properties, never values. */
export function detailsFrom(errors: readonly ErrorObject[]): readonly ErrorDetail[] {
  const seen = new Map<string, ErrorDetail>()
  for (const error of errors) {
    if (seen.size === MAX_DETAILS) break
    const detail = detailFrom(error)
    seen.set(`${detail.pointer} ${detail.message}`, detail)
  }
  return [...seen.values()]
}

function detailFrom(error: ErrorObject): ErrorDetail {
  const { additionalProperty, unevaluatedProperty, missingProperty, allowedValues } = error.params
  const unknown = additionalProperty ?? unevaluatedProperty
  if (typeof unknown === 'string') {
    return { pointer: below(error, unknown), message: `unknown property ${shown(unknown)}` }
  }
  if (typeof missingProperty === 'string') {
    return { pointer: below(error, missingProperty), message: `${missingProperty} is required` }
  }
  if (Array.isArray(allowedValues)) {
    return { pointer: at(error), message: `must be one of: ${allowedValues.map(String).join(', ')}` }
  }
  if (error.keyword === 'pattern')
    return { pointer: at(error), message: patternWords(String(error.params.pattern)) }
  return {
    pointer: at(error),
    message: limitWords(error) ?? error.message ?? `breaks the rule ${error.keyword}`,
  }
}

/** What is too short, too long, too few or too many, as a person would say it. */
function limitWords({ keyword, params }: ErrorObject): string | undefined {
  const words = LIMITS[keyword]
  if (words === undefined) return undefined
  const [bound, one, many] = words
  return `must have ${bound} ${params.limit} ${params.limit === 1 ? one : many}`
}

function at(error: ErrorObject): string {
  return error.instancePath.slice(0, 512)
}

function below(error: ErrorObject, property: string): string {
  return `${at(error)}${pointerTo(property)}`
}

/** Details that name each of the given properties as unknown. `noun` says what they are. */
function unknownNames(noun: string, names: readonly string[]): readonly ErrorDetail[] {
  return names.slice(0, MAX_DETAILS).map((name) => ({
    pointer: pointerTo(name),
    message: `unknown ${noun} ${shown(name)}`,
  }))
}

/** The JSON pointer to a property of the root, RFC 6901 escapes included. */
function pointerTo(name: string): string {
  return `/${shown(name).replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function shown(name: string): string {
  return name.length <= MAX_NAME_CHARS ? name : `${name.slice(0, MAX_NAME_CHARS)}…`
}

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
