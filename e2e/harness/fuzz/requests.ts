import fc, { type Arbitrary } from 'fast-check'
import type { Sent } from '../http-client.ts'
import type { Operation } from '../openapi.ts'
import { bodyFields, type Fields, MEDIA_TYPES, ordinaryFields, weirdFields } from './headers.ts'
import { anyCharacter, hostileBodies, hostileValues, mutations } from './hostile-values.ts'
import { valuesOf } from './schema-values.ts'
import { type Known, pathOf, queryOf } from './url-parts.ts'

/** How a request was made up. */
export type Kind = 'fitting' | 'mutated' | 'hostile' | 'stray'

/** A request of the fuzzer. */
export interface FuzzRequest extends Sent {
  readonly kind: Kind
  /** Which of the credentials it carries. */
  readonly credential: string
}

/** What requests are made from. */
export interface FuzzWorld {
  readonly operations: readonly Operation[]
  /** Authorization header by name of the credential; `none` has the empty one. */
  readonly credentials: Readonly<Record<string, string>>
  readonly known: Known
}

/** Requests of every kind for the operations of a service. */
export function requestsTo(world: FuzzWorld): Arbitrary<FuzzRequest> {
  const makers = { fitting, mutated, hostile }
  const any = (kind: 'fitting' | 'mutated' | 'hostile'): Arbitrary<FuzzRequest> =>
    fc.oneof(
      ...world.operations.map((operation) => ({
        arbitrary: makers[kind](world, operation),
        weight: weightOf(operation),
      })),
    )
  return fc.oneof(
    { weight: 45, arbitrary: any('fitting') },
    { weight: 25, arbitrary: any('mutated') },
    { weight: 20, arbitrary: any('hostile') },
    { weight: 10, arbitrary: stray(world) },
  )
}

/** Requests that fit the document. */
export function fittingRequestsTo(world: FuzzWorld): Arbitrary<FuzzRequest> {
  return fc.oneof(...world.operations.map((operation) => fitting(world, operation)))
}

/** What hashes a password as slowly as it is to be guessed: a third of a second of a processor each, whoever asks. */
const HASHING = new Set([
  'POST /v1/auth/login',
  'POST /v1/auth/password',
  'POST /v1/auth/recovery-codes',
  'POST /v1/auth/invitation',
  'POST /v1/users',
  'POST /v1/users/{id}/reset',
])

/** A change has more ways to go wrong than a read; each load of a plugin costs memory for good, and each backup a process. */
function weightOf({ method, path }: Operation): number {
  if (path.startsWith('/v1/plugins/') || (method === 'GET' && path === '/v1/backup')) return 1
  if (HASHING.has(`${method} ${path}`)) return 1
  return method === 'GET' ? 2 : 5
}

/** Requests, some of them once more: with the same key and body, or with the same key and another body. */
export function batchesTo(world: FuzzWorld, size: number): Arbitrary<readonly FuzzRequest[]> {
  const repeats = fc.array(fc.tuple(fc.nat(size - 1), fc.boolean()), { maxLength: size / 4 })
  return fc
    .tuple(fc.array(requestsTo(world), { minLength: size, maxLength: size }), repeats)
    .map(([first, again]) => [
      ...first,
      ...again.flatMap(([index, isSame]) => {
        const request = first[index]
        if (request?.headers['idempotency-key'] === undefined) return []
        return isSame
          ? [request]
          : [{ ...request, body: Buffer.concat([Buffer.from(request.body ?? ''), Buffer.from(' ')]) }]
      }),
    ])
}

/** As the document has it, so that most of it passes the checks and reaches the handler. */
function fitting(world: FuzzWorld, operation: Operation): Arbitrary<FuzzRequest> {
  return fc
    .tuple(
      pathOf(operation, world.known, false),
      queryOf(operation, world.known, false),
      ordinaryFields,
      credential(world, 12),
      bodyOf(world, operation),
    )
    .map(([path, query, fields, who, body]) =>
      request(world, 'fitting', operation.method, path + query, who, fields, jsonBody(body)),
    )
}

/** Nearly as the document has it: one thing in the body, the URL or the headers is changed. */
function mutated(world: FuzzWorld, operation: Operation): Arbitrary<FuzzRequest> {
  const body = bodyOf(world, operation).chain((value) =>
    value === undefined ? fc.option(hostileValues, { nil: undefined, freq: 3 }) : mutations(value),
  )
  return fc
    .tuple(
      fc.boolean().chain((isHostile) => pathOf(operation, world.known, isHostile)),
      fc.boolean().chain((isHostile) => queryOf(operation, world.known, isHostile)),
      fc.oneof(ordinaryFields, weirdFields),
      credential(world, 20),
      body,
    )
    .map(([path, query, fields, who, value]) =>
      request(world, 'mutated', operation.method, path + query, who, fields, jsonBody(value)),
    )
}

/** Bytes that are not what they say, under any media type, with any header, for any method. */
function hostile(world: FuzzWorld, operation: Operation): Arbitrary<FuzzRequest> {
  return fc
    .tuple(
      pathOf(operation, world.known, true),
      queryOf(operation, world.known, true),
      weirdFields,
      credential(world, 4),
      fc.option(hostileBodies, { nil: undefined, freq: operation.method === 'GET' ? 1 : 10 }),
      fc.oneof({ weight: 2, arbitrary: fc.constant('application/json') }, fc.constantFrom(...MEDIA_TYPES)),
      bodyFields,
    )
    .map(([path, query, fields, who, bytes, type, about]) => {
      const given = bytes === undefined ? {} : { 'content-type': type, ...about }
      return request(world, 'hostile', operation.method, path + query, who, fields, { bytes, fields: given })
    })
}

/** Other methods on known paths, and paths that nobody serves. */
function stray(world: FuzzWorld): Arbitrary<FuzzRequest> {
  const known = fc
    .constantFrom(...world.operations)
    .chain((operation) => pathOf(operation, world.known, true))
  const any = fc
    .array(fc.string({ unit: anyCharacter, maxLength: 10 }), { maxLength: 6 })
    .map((segments) => `/${segments.map(encodeURIComponent).join('/')}`)
  const odd = fc.constantFrom(
    '*',
    '//',
    '/v1',
    '/v1/',
    '/v2/status',
    '/v1/sims',
    '/v1/sims/0123456789ab',
    '/v1/backup',
    '/v1/docs/',
    '/v1/docs/../openapi.json',
    '/v1/docs/package.json',
    '/v1/docs/page.js.map',
    '/favicon.ico',
    '/.git/config',
    '/%',
    '/v1/status%00',
    '/v1\\status',
    'http://other.example/v1/status',
    `/${'a/'.repeat(500)}`,
  )
  const methods = fc.constantFrom(
    ...[
      'GET',
      'HEAD',
      'POST',
      'PUT',
      'DELETE',
      'PATCH',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'QUERY',
      'MKCOL',
      'PURGE',
    ],
  )
  return fc
    .tuple(methods, fc.oneof({ weight: 3, arbitrary: known }, any, odd), weirdFields, credential(world, 4))
    .map(([method, path, fields, who]) => request(world, 'stray', method, path, who, fields, {}))
}

function request(
  world: FuzzWorld,
  kind: Kind,
  method: string,
  path: string,
  who: string,
  fields: Fields,
  body: { readonly bytes?: Buffer | undefined; readonly fields?: Fields },
): FuzzRequest {
  const authorization = world.credentials[who] ?? ''
  const headers = { ...fields, ...body.fields, ...(authorization === '' ? {} : { authorization }) }
  return { kind, credential: who, method, path, headers, body: body.bytes }
}

/** The admin token most of the time: only what is let in is tested further. */
function credential(world: FuzzWorld, adminWeight: number): Arbitrary<string> {
  const others = Object.keys(world.credentials).filter((name) => name !== 'admin')
  return fc.oneof({ weight: adminWeight, arbitrary: fc.constant('admin') }, fc.constantFrom(...others))
}

function bodyOf(world: FuzzWorld, operation: Operation): Arbitrary<unknown> {
  const { requestBody } = operation.object
  const schema = requestBody?.content['application/json']?.schema
  if (requestBody === undefined || schema === undefined) return fc.constant(undefined)
  const values = valuesOf(schema, world.known.hints)
  return requestBody.required ? values : fc.option(values, { nil: undefined, freq: 10 })
}

function jsonBody(value: unknown): { readonly bytes?: Buffer; readonly fields?: Fields } {
  if (value === undefined) return {}
  return { bytes: Buffer.from(JSON.stringify(value)), fields: { 'content-type': 'application/json' } }
}
