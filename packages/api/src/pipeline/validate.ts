import {
  DURATION_PATTERN,
  type ErrorDetail,
  invalidCursor,
  invalidLimit,
  type JsonSchema,
  NAME_PATTERN,
  type Page,
  PLAIN_TEXT_PATTERN,
  UUID_PATTERN,
  validationFailed,
} from '@steeple/contracts'
import type { ErrorObject } from 'ajv'
import type { FastifyRequest } from 'fastify'
import { acceptedTypes, type Endpoint } from '../host/endpoint.ts'
import { type Concern, concern } from './concern.ts'
import type { Cursors } from './cursor.ts'
import { largeBodies } from './read-body.ts'
import type { SchemaChecks } from './schema-checks.ts'

const WORDS: ReadonlyMap<string, string> = new Map([
  [PLAIN_TEXT_PATTERN, 'text without control characters'],
  [NAME_PATTERN, 'text without control characters, and not of spaces alone'],
  [DURATION_PATTERN, 'a duration such as 15s, 5m or 1h30m'],
  [UUID_PATTERN, 'a UUID in lower case'],
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
  const { limit, type, format, pattern } = error.params
  const asked = limit ?? type ?? format ?? pattern
  const isSaid = typeof asked === 'number' || typeof asked === 'string'
  return { ...saidOf(error), rule: error.keyword, ...(isSaid ? { limit: asked } : {}) }
}

function saidOf(error: ErrorObject): ErrorDetail {
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

/** `limit` and `cursor` of a list route, as they were given. */
interface Paged {
  readonly limit: unknown
  readonly cursor: unknown
}

/** The page that was asked for. Throws `invalid_limit`, `invalid_cursor`. */
function pageFrom({ limit, cursor }: Paged, scope: string, cursors: Cursors): Page {
  return {
    limit: limitFrom(limit),
    after: positionFrom(cursor, scope, cursors),
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

/** The hash of an IMSI, the path parameter `{imsi}` of every route of one SIM. */
const HASH = /^[0-9a-f]{12}$/i

type Values = Readonly<Record<string, unknown>>

/**
 * Checks path parameters, query and body against the schemas of the route, by fastify's validator, and parses the page of a list route.
 * What no schema speaks of is refused here: parameters and bodies that a route does not take.
 */
export const validation: Concern = concern('validation', ['body'], (app, { cursors, checks }) => {
  app.setValidatorCompiler(({ schema, httpPart = 'body' }) =>
    validatorOf(schema as JsonSchema, httpPart, checks),
  )
  app.addHook('preValidation', (request, _reply, done) => {
    const { endpoint } = request.context
    if (endpoint === undefined) {
      done()
      return
    }
    const { params } = request
    // Hexadecimal characters are the same in both cases.
    if (hasHash(params)) request.params = { ...params, imsi: params.imsi.toLowerCase() }
    if (endpoint.route.paged === true) {
      const { limit, cursor, ...filters } = request.query as Values
      request.context.paged = { limit, cursor }
      request.query = filters
    }
    if (endpoint.route.schema?.query === undefined) refuseNames('query parameter', 'parameter', request.query)
    if (endpoint.isMutating) expectBody(request, endpoint)
    done()
  })
  app.addHook('preHandler', ({ context, query }, _reply, done) => {
    context.isUnderCheck = false
    const { paged, path } = context
    if (paged !== undefined) context.parsedPage = pageFrom(paged, scopeOf(path, query as Values), cursors)
    done()
  })
})

function hasHash(params: unknown): params is { readonly imsi: string } {
  if (typeof params !== 'object' || params === null || !('imsi' in params)) return false
  return typeof params.imsi === 'string' && HASH.test(params.imsi)
}

/** What a cursor is bound to: the URL's path and its filters, whatever their order. */
function scopeOf(path: string, filters: Values): string {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([path, sorted])
}

/** A missing body counts as `{}` where nothing in it is required, unless the handler takes octets. A route without a schema for it takes none, or the empty object. */
function expectBody(request: FastifyRequest, { route }: Endpoint): void {
  const { body } = request
  const schema = route.schema?.body
  if (schema === undefined) {
    const isJson = route.rawBody !== true && route.consumes === undefined
    if (body !== undefined && isJson) refuseNames(undefined, 'property', body)
  } else if (body === undefined) {
    if (!isOptional(schema)) throw validationFailed(`the body is missing; send ${acceptedTypes(route)}`)
    if (route.rawBody !== true) request.body = {}
  }
}

/** Names that nobody asked for. Without a `part` it is the whole body that nobody asked for. */
function refuseNames(part: string | undefined, noun: string, value: unknown): void {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const names = isObject ? Object.keys(value) : undefined
  if (names?.length === 0) return
  const details = unknownNames(noun, names ?? [])
  if (part !== undefined) throw failure(part, details)
  throw validationFailed('this route takes no body', details.length === 0 ? {} : { details })
}

/** Holds path parameters, query and body of a request that no HTTP brought to the schemas of its route, fills defaults in, and gives them back. */
export function checkedParts(
  { route }: Endpoint,
  parts: { readonly params: Values; readonly query: Values; readonly body: unknown },
  checks: SchemaChecks,
): { readonly params: Values; readonly query: Values; readonly body: unknown } {
  const { schema = {} } = route
  const copy = structuredClone({ ...parts, body: parts.body ?? (schema.body === undefined ? undefined : {}) })
  if (schema.query === undefined) refuseNames('query parameter', 'parameter', copy.query)
  if (schema.body === undefined && copy.body !== undefined) refuseNames(undefined, 'property', copy.body)
  for (const [part, name, value] of [
    [schema.params, 'params', copy.params],
    [schema.query, 'querystring', copy.query],
    [schema.body, 'body', copy.body],
  ] as const) {
    const answer = part === undefined ? true : validatorOf(part, name, checks)(value)
    if (answer !== true) throw answer.error
  }
  return copy
}

/** What fastify calls the parts of a request, and what people do. */
const PARTS: Readonly<Record<string, string>> = {
  params: 'path parameter',
  querystring: 'query parameter',
  body: 'body',
}

/** A schema as fastify asks it. It was compiled when the first generation with it was built, or is when it is asked first. */
function validatorOf(schema: JsonSchema, part: string, checks: SchemaChecks) {
  const check = checks.checkLater(part === 'body' ? 'body' : 'url', schema)
  return (value: unknown): { readonly error: Error } | true => {
    const details = check(value, !largeBodies.has(Object(value)))
    return details === undefined ? true : { error: failure(PARTS[part] ?? part, details) }
  }
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
