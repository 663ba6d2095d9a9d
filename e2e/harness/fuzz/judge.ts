import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Got } from '../http-client.ts'
import { type OpenApi, type Operation, operationsOf } from '../openapi.ts'
import type { FuzzRequest } from './requests.ts'
import { isObject } from './values.ts'

/** Judges answers by the served document alone. */
export interface Judge {
  /** The operation that serves a request; undefined when the document has none for it. */
  operationFor(method: string, path: string): Operation | undefined
  /** What is wrong with an answer; empty when nothing is. */
  problems(request: FuzzRequest, got: Got): readonly string[]
}

const ERROR_TYPE = 'application/json; charset=utf-8'
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Codes of answers to what no operation serves, by status. */
const UNSERVED: Readonly<Record<number, readonly string[]>> = {
  400: ['validation_failed'],
  404: ['not_found', 'feature_not_installed'],
  405: ['method_not_allowed'],
  431: ['headers_too_large'],
}
/** What an answer never tells: where the code lies, what the store said. */
const INTERNALS = /\bat .+\.(?:js|ts):\d+|node:internal|node_modules|SQLITE_|better-sqlite3|\bknex\b/

/** Making the checks of a whole document shorter takes longer than all that they check here. */
const OPTIONS = { strict: false, validateFormats: true, code: { optimize: false } } as const

/** What is wrong with a value by a schema that refers to nothing; empty when nothing is. */
export function createValidator(): (schema: object, value: unknown) => readonly string[] {
  const ajv = new Ajv2020({ ...OPTIONS, allErrors: true })
  formats.default(ajv)
  return (schema, value) => {
    const validate = ajv.compile(schema)
    if (validate(value)) return []
    return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
  }
}

/** A judge for the service that serves `document`. Throws when a schema of the document does not compile. */
export function createJudge(document: OpenApi): Judge {
  const ajv = new Ajv2020(OPTIONS)
  formats.default(ajv)
  ajv.addSchema({ $id: 'openapi:document', ...document })
  const operations = operationsOf(document)
  const validators = new Map<string, ValidateFunction>()
  // Most answers are alike: a check of each kind is made once.
  const made = new Map<string, ValidateFunction>()
  for (const operation of operations)
    for (const [status, { content = {} }] of Object.entries(operation.object.responses))
      for (const [type, { schema }] of Object.entries(content)) {
        if (schema === undefined) continue
        const { path, method } = operation
        const way = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema']
        const text = JSON.stringify(schema)
        const $ref = `openapi:document#/${way.map(escaped).join('/')}`
        const validate = made.get(text) ?? ajv.compile({ $ref })
        made.set(text, validate)
        validators.set(keyOf(operation, status, type), validate)
      }
  // A path that is spelt out goes before one with a parameter in the same place.
  const patterns = operations
    .toSorted((a, b) => parametersIn(a) - parametersIn(b))
    .map((operation) => ({ operation, parts: operation.path.split('/') }))
  const byShape = Map.groupBy(patterns, ({ operation, parts }) => shapeOf(operation.method, parts))
  const operationFor = (method: string, path: string): Operation | undefined => {
    const segments = segmentsOf(path)
    const candidates = byShape.get(shapeOf(method === 'HEAD' ? 'GET' : method, segments)) ?? []
    const given = segments.map(decoded)
    return candidates.find(({ parts }) => fits(parts, given))?.operation
  }
  return {
    operationFor,
    problems: (request, got) => {
      const operation = operationFor(request.method, request.path)
      const unserved = isPage(request, got) ? [] : unservedProblems(got)
      const served = operation === undefined ? unserved : servedProblems(operation, request, got, validators)
      // A router may take an empty segment for a parameter or for none.
      const isVague = segmentsOf(request.path).slice(1).includes('')
      return [
        ...generalProblems(request, got),
        ...(got.status < 400 ? [] : errorProblems(request, got)),
        ...(isVague && unserved.length === 0 ? [] : served),
      ]
    },
  }
}

function generalProblems(request: FuzzRequest, got: Got): readonly string[] {
  const { status, headers, body } = got
  const lacks = (name: string, statuses: readonly number[]): boolean =>
    statuses.includes(status) && headers[name] === undefined
  const rules: readonly (readonly [isBroken: boolean, problem: string])[] = [
    [!hasRequestId(request, headers['x-request-id']), `has the X-Request-Id ${headers['x-request-id']}`],
    [headers['x-content-type-options'] !== 'nosniff', 'has no X-Content-Type-Options'],
    [headers['cache-control'] === undefined, 'has no Cache-Control'],
    ['x-powered-by' in headers || 'server' in headers, 'names its software'],
    [status === 401 && headers['www-authenticate'] !== 'Bearer', 'has no WWW-Authenticate'],
    [lacks('allow', [405]), 'has no Allow'],
    [lacks('retry-after', [429, 503]), 'has no Retry-After'],
    [lacks('ratelimit-limit', [429]), 'has no RateLimit-Limit'],
    [status >= 400 && INTERNALS.test(body.toString()), 'tells internals'],
  ]
  return rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem)
}

function hasRequestId(request: FuzzRequest, id: string | undefined): boolean {
  // White space around a field's value is not part of it (RFC 9110 §5.5).
  const asked = String(request.headers['x-request-id'] ?? '').replaceAll(/^[ \t]+|[ \t]+$/g, '')
  return REQUEST_ID.test(asked) ? id === asked : UUID.test(id ?? '')
}

function errorProblems(request: FuzzRequest, { headers, body }: Got): readonly string[] {
  if (request.method === 'HEAD') return body.length === 0 ? [] : ['has a body']
  if (headers['content-type'] !== ERROR_TYPE) return [`is an error as ${headers['content-type']}`]
  const value = parsed(body)
  if (!isObject(value) || Object.keys(value).join() !== 'error' || !isObject(value.error)) {
    return ['is not of the one error shape']
  }
  const { code, message, details, ...more } = value.error
  const isWhole = typeof code === 'string' && typeof message === 'string' && message !== ''
  if (!isWhole || Object.keys(more).length > 0) return ['is not of the one error shape']
  const areDetails = details === undefined || (Array.isArray(details) && details.length > 0)
  return areDetails ? [] : ['has empty details']
}

/** The console shows a page of its own at any address that could be one, and at what looks like another host. */
function isPage({ method, path, headers }: FuzzRequest, { status, headers: answered }: Got): boolean {
  const isAsked = method === 'GET' && String(headers.accept ?? '').includes('text/html')
  const [address = ''] = path.split(/[?#]/)
  const isAddress =
    /^(\/[\w~-]+){1,6}$/.test(address) && !/^\/(v1|docs|metrics|gsma|es9plus)(\/|$)/.test(address)
  const isStray = /^\/(\/|\\|%5c)/i.test(address)
  return (
    isAsked &&
    (isAddress || isStray) &&
    status === 200 &&
    String(answered['content-type']).startsWith('text/html')
  )
}

/** A path or method that the document does not have. */
function unservedProblems({ status, body }: Got): readonly string[] {
  const codes = UNSERVED[status]
  if (codes === undefined) return [`answers ${status} where no operation is documented`]
  const value = parsed(body)
  const code = isObject(value) && isObject(value.error) ? value.error.code : undefined
  return body.length === 0 || codes.includes(String(code)) ? [] : [`answers ${status} with the code ${code}`]
}

function servedProblems(
  operation: Operation,
  request: FuzzRequest,
  got: Got,
  validators: ReadonlyMap<string, ValidateFunction>,
): readonly string[] {
  const documented = operation.object.responses[String(got.status)]
  if (documented === undefined) return [`answers ${got.status}, which is not documented`]
  if (request.credential === 'none' && operation.object.security.length > 0 && got.status < 400) {
    return ['lets in a request without a credential']
  }
  const types = Object.keys(documented.content ?? {})
  const given = got.headers['content-type']
  if (types.length === 0) {
    return given === undefined && got.body.length === 0 ? [] : ['has a body, which is not documented']
  }
  const type = given?.split(';')[0] ?? ''
  if (!types.includes(type)) return [`is ${given}, documented is ${types.join(', ')}`]
  if (request.method === 'HEAD') return got.body.length === 0 ? [] : ['has a body']
  const validate = validators.get(keyOf(operation, String(got.status), type))
  if (type.endsWith('json')) return bodyProblems(got.body, validate)
  return got.body.length > 0 ? [] : ['has no body']
}

function bodyProblems(body: Buffer, validate: ValidateFunction | undefined): readonly string[] {
  if (validate === undefined) return body.length > 0 ? [] : ['has no body']
  const value = parsed(body)
  if (value === undefined) return ['is not JSON']
  if (validate(value)) return []
  const [error] = validate.errors ?? []
  return [`has a body that its schema refuses: ${error?.instancePath} ${error?.message}`]
}

function keyOf({ method, path }: Operation, status: string, type: string): string {
  return `${method} ${path} ${status} ${type}`
}

/** The segments of the path that a server sees, without query and fragment. */
function segmentsOf(url: string): readonly string[] {
  return (url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/)[0] ?? '').split('/')
}

function parametersIn({ path }: Operation): number {
  return path.split('{').length
}

/** Paths of as many segments, by the same method: only these can fit each other. */
function shapeOf(method: string, segments: readonly string[]): string {
  return `${method} ${segments.length}`
}

/** Whether decoded segments of as many are those of the documented path: its parameters are not broken and not endless. */
function fits(pattern: readonly string[], asked: readonly (string | undefined)[]): boolean {
  return pattern.every((part, index) => {
    const given = asked[index]
    if (given === undefined) return false
    return part.startsWith('{') ? given.length <= 512 : part === given
  })
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
