import fc, { type Arbitrary } from 'fast-check'
import type { Sent } from '../http-client.ts'
import type { Operation, Parameter } from '../openapi.ts'
import {
  anyCharacter,
  type Hints,
  hostileBodies,
  hostileTexts,
  hostileValues,
  mutations,
  valuesOf,
  words,
} from './values.ts'

/** Header fields by lower-case name. */
type Fields = Readonly<Record<string, string>>

/** How a request was made up. */
type Kind = 'fitting' | 'mutated' | 'hostile' | 'stray'

export interface FuzzRequest extends Sent {
  readonly kind: Kind
  /** Which of the credentials it carries. */
  readonly credential: string
}

export interface FuzzWorld {
  readonly operations: readonly Operation[]
  /** Authorization header by name of the credential; `none` has the empty one. */
  readonly credentials: Readonly<Record<string, string>>
  /** Things of the running service that requests may name. */
  readonly known: {
    /** Values of path parameters by operation, or by operation and name, for those that exist. */
    readonly params: Readonly<Record<string, readonly string[]>>
    readonly cursors: readonly string[]
    /** Values of body properties. */
    readonly hints: Hints
  }
}

/** Requests, some of them once more: with the same key and body, or with the same key and another body. */
export function batchesTo(world: FuzzWorld, size: number): Arbitrary<readonly FuzzRequest[]> {
  const any = (kind: 'fitting' | 'mutated' | 'hostile', weight: number) => ({
    weight,
    arbitrary: fc.oneof(
      ...world.operations.map((operation) => ({
        arbitrary: requestTo(world, operation, kind),
        weight: weightOf(operation),
      })),
    ),
  })
  const requests = fc.oneof(any('fitting', 45), any('mutated', 25), any('hostile', 20), {
    weight: 10,
    arbitrary: stray(world),
  })
  const repeats = fc.array(fc.tuple(fc.nat(size - 1), fc.boolean()), { maxLength: size / 4 })
  return fc.tuple(fc.array(requests, { minLength: size, maxLength: size }), repeats).map(([first, again]) => [
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

/** Requests that fit the document. */
export function fittingRequestsTo(world: FuzzWorld): Arbitrary<FuzzRequest> {
  return fc.oneof(...world.operations.map((operation) => requestTo(world, operation, 'fitting')))
}

/** What hashes a password as slowly as it is to be guessed: a third of a second of a processor each, whoever asks. */
const HASHING = /^POST \/v1\/(auth\/(login|password|recovery-codes|invitation)|users|users\/\{id\}\/reset)$/

/** A change has more ways to go wrong than a read; each load of a plugin costs memory for good, and each backup a process. */
function weightOf({ method, path }: Operation): number {
  if (path.startsWith('/v1/plugins/') || (method === 'GET' && path === '/v1/backup')) return 1
  if (HASHING.test(`${method} ${path}`)) return 1
  return method === 'GET' ? 2 : 5
}

/**
 * `fitting`: as the document has it, so that most of it passes the checks and reaches the handler. `mutated`: one thing in the body, the
 * URL or the headers is changed. `hostile`: bytes that are not what they say, under any media type, with any header, for any method.
 */
function requestTo(world: FuzzWorld, operation: Operation, kind: Exclude<Kind, 'stray'>) {
  const { known } = world
  const hostility = kind === 'mutated' ? fc.boolean() : fc.constant(kind === 'hostile')
  const fields = {
    fitting: ordinaryFields,
    mutated: fc.oneof(ordinaryFields, weirdFields),
    hostile: weirdFields,
  }
  const body = {
    fitting: () => bodyOf(world, operation).map(jsonBody),
    mutated: () =>
      bodyOf(world, operation)
        .chain((value) =>
          value === undefined ? fc.option(hostileValues, { nil: undefined, freq: 3 }) : mutations(value),
        )
        .map(jsonBody),
    hostile: () =>
      fc
        .tuple(
          fc.option(hostileBodies, { nil: undefined, freq: operation.method === 'GET' ? 1 : 10 }),
          fc.oneof({ weight: 2, arbitrary: fc.constant('application/json') }, mediaTypes),
          bodyFields,
        )
        .map(([bytes, type, about]) => (bytes === undefined ? {} : { bytes, type, about })),
  }
  return fc
    .tuple(
      hostility.chain((isHostile) => pathOf(operation, known, isHostile)),
      hostility.chain((isHostile) => queryOf(operation, known, isHostile)),
      fields[kind],
      // The admin token most of the time: only what is let in is tested further.
      credential(world, { fitting: 12, mutated: 20, hostile: 4 }[kind]),
      body[kind](),
    )
    .map(([path, query, own, who, bytes]) =>
      request(world, kind, operation.method, path + query, who, own, bytes),
    )
}

/** Other methods on known paths, and paths that nobody serves. */
function stray(world: FuzzWorld): Arbitrary<FuzzRequest> {
  const known = fc.constantFrom(...world.operations).chain((one) => pathOf(one, world.known, true))
  const any = fc
    .array(fc.string({ unit: anyCharacter, maxLength: 10 }), { maxLength: 6 })
    .map((segments) => `/${segments.map(encodeURIComponent).join('/')}`)
  const odd = fc.oneof(
    { weight: 1, arbitrary: fc.constant(`/${'a/'.repeat(500)}`) },
    {
      weight: 18,
      arbitrary: words`* // /v1 /v1/ /v2/status /v1/sims /v1/sims/0123456789ab /v1/backup /v1/docs/ /v1/docs/../openapi.json
        /v1/docs/package.json /v1/docs/page.js.map /favicon.ico /.git/config /% /v1/status%00 /v1\status
        http://other.example/v1/status`,
    },
  )
  const methods = words`GET HEAD POST PUT DELETE PATCH OPTIONS TRACE PROPFIND QUERY MKCOL PURGE`
  return fc
    .tuple(methods, fc.oneof({ weight: 3, arbitrary: known }, any, odd), weirdFields, credential(world, 4))
    .map(([method, path, fields, who]) => request(world, 'stray', method, path, who, fields, {}))
}

interface Body {
  readonly bytes?: Buffer
  readonly type?: string
  readonly about?: Fields
}

function request(
  world: FuzzWorld,
  kind: Kind,
  method: string,
  path: string,
  who: string,
  fields: Fields,
  { bytes, type, about }: Body,
): FuzzRequest {
  const authorization = world.credentials[who] ?? ''
  const headers = {
    ...fields,
    ...(type === undefined ? {} : { 'content-type': type }),
    ...about,
    ...(authorization === '' ? {} : { authorization }),
  }
  return { kind, credential: who, method, path, headers, body: bytes }
}

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

function jsonBody(value: unknown): Body {
  return value === undefined ? {} : { bytes: Buffer.from(JSON.stringify(value)), type: 'application/json' }
}

/** The path of an operation: parameters that exist, that fit, or that are hostile. */
function pathOf(operation: Operation, known: FuzzWorld['known'], isHostile: boolean): Arbitrary<string> {
  const parameters = operation.parameters.filter((parameter) => parameter.in === 'path')
  const segment = ({ name, schema }: Parameter): Arbitrary<string> => {
    const fitting = valuesOf(schema).map((value) => encodeSegment(String(value)))
    const own = `${operation.method} ${operation.path}`
    const existing = known.params[`${own} ${name}`] ?? known.params[own] ?? []
    const good = existing.length === 0 ? fitting : fc.oneof(fc.constantFrom(...existing), fitting)
    return isHostile
      ? fc.oneof(
          good,
          hostileSegments,
          hostileTexts.map((text) => encodeSegment(text.slice(0, 500))),
        )
      : good
  }
  return fc
    .tuple(...parameters.map(segment))
    .map((segments) =>
      parameters.reduce(
        (path, { name }, index) => path.replace(`{${name}}`, () => segments[index] ?? ''),
        operation.path,
      ),
    )
}

/** Segments that a router may stumble over, already encoded. */
const hostileSegments = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('', 'a'.repeat(600), encodeURIComponent('𝒳é')) },
  {
    weight: 16,
    arbitrary: words`% %zz %00 %2f %2e%2e .. . %c3%28 %ed%a0%80 %u0041 * :id {id} a;b=c __proto__ constructor`,
  },
)

function encodeSegment(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

const queryNoise = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(`cursor=${'A'.repeat(2_000)}`, `${'x=1&'.repeat(500)}x=1`) },
  {
    weight: 17,
    arbitrary: words`limit=1&limit=2 limit[]=1 limit=5;cursor=6 __proto__=1 __proto__[a]=1 constructor[prototype][a]=1
      a=b = &&& % a=%zz cursor cursor= cursor=AAAA&cursor=AAAA action=%00 from=now ? %ff=%fe`,
  },
)

/** A query string with its `?`, or the empty string. */
function queryOf(operation: Operation, known: FuzzWorld['known'], isHostile: boolean): Arbitrary<string> {
  const declared = operation.parameters.filter((parameter) => parameter.in === 'query')
  const good = fc
    .subarray([...declared], { maxLength: Math.min(3, declared.length) })
    .chain((chosen) => fc.tuple(...chosen.map((parameter) => pairOf(parameter, known))))
  const noise = isHostile ? fc.array(queryNoise, { maxLength: 2 }) : fc.constant([])
  return fc
    .tuple(good, noise)
    .map(([pairs, more]) => [...pairs, ...more])
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.join('&')}`))
}

/** Values of parameters that their schemas say too little of. Nobody has a batch of requests wait for one that asks to be told of a change. */
const OF_PARAMETERS: Readonly<Record<string, Arbitrary<string>>> = {
  limit: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('', ' 5', '9'.repeat(30)) },
    { weight: 12, arbitrary: words`1 2 50 500 0 501 -1 1e2 NaN 50.0 007 ١` },
  ),
  wait_s: fc.constantFrom('0', '1', '-1', '1.5', '9999', '', 'soon'),
  wait: fc.constantFrom('0s', '20ms', '1s', '-1s', '1.5s', '9999h', '1', '', 'soon'),
}

function pairOf({ name, schema }: Parameter, { cursors }: FuzzWorld['known']): Arbitrary<string> {
  const known = name === 'cursor' && cursors.length > 0 ? fc.constantFrom(...cursors) : OF_PARAMETERS[name]
  const values = known ?? fc.oneof(valuesOf(schema), hostileTexts)
  return values.map((value) => `${name}=${encodeSegment(String(value))}`)
}

/** Keys from a pool small enough that they meet again, with the same body and with others. */
const keys = fc.oneof(
  { weight: 60, arbitrary: fc.nat(59).map((index) => `fuzz-key-${index}`) },
  { weight: 5, arbitrary: fc.constantFrom('x'.repeat(255), '!', '~', '"\'\\', '__proto__') },
)
const badKeys = fc.constantFrom('', ' ', 'a b', 'x'.repeat(256), '\u00e9', '\t', 'x'.repeat(2_000))

/** Fields that an ordinary client sends. */
const ordinaryFields: Arbitrary<Fields> = fc.record(
  {
    'idempotency-key': keys,
    'x-request-id': fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
    accept: words`*/* application/json text/html image/png`,
  },
  { requiredKeys: [] },
)

/** Fields that mean something to the service, with any value, and fields that mean nothing to it. */
const weirdFields: Arbitrary<Fields> = fc
  .tuple(
    ordinaryFields,
    fc.dictionary(
      words`x-request-id idempotency-key if-match if-none-match if-modified-since last-event-id accept accept-encoding
        accept-language range origin referer cookie forwarded x-forwarded-for x-forwarded-proto x-http-method-override
        x-backup-passphrase user-agent via te x-custom`,
      fc.oneof(
        fc.string({ maxLength: 40 }),
        fc
          .array(fc.integer({ min: 0x20, max: 0xff }), { maxLength: 40 })
          .map((codes) => String.fromCharCode(...codes)),
        fc.constantFrom('', 'null', '*', '"1"', 'W/"1"', '"1", "2"', '"', '-1', '0x10', 'a'.repeat(3_000)),
      ),
      { maxKeys: 4 },
    ),
    fc.option(badKeys, { freq: 6, nil: undefined }),
  )
  .map(([ordinary, weird, key]) => ({
    ...ordinary,
    ...weird,
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  }))
  .map((fields) =>
    // Without what a client cannot put on the wire: control characters but tab, and what is no octet.
    Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [name, value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')]),
    ),
  )

/** Media types for a body. */
const mediaTypes = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('', ';', 'application/json; charset=utf-8') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('application/json; charset=utf-16', 'multipart/form-data; boundary=x'),
  },
  {
    weight: 13,
    arbitrary: words`application/json APPLICATION/JSON application/json;;; application/merge-patch+json application/jsonx text/json
      text/plain text/csv application/x-www-form-urlencoded application/octet-stream application/xml */* json`,
  },
)

/** Fields about the body that few clients send. */
const bodyFields: Arbitrary<Fields> = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Fields>(
      ...[
        { 'content-encoding': 'gzip' },
        { 'content-encoding': 'identity' },
        { 'transfer-encoding': 'chunked' },
      ],
      ...[{ expect: '100-continue' }, { expect: 'the-impossible' }],
      ...[{ upgrade: 'websocket', connection: 'upgrade' }, { 'content-language': 'x'.repeat(100) }],
    ),
  },
)
