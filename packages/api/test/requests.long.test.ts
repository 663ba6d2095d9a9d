import { notReady, objectSchema, ok, route, storeUnavailable } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'

const requests = suite('api/requests')

const token = ADMIN_TOKEN
const things = route<{ id: string }, { state?: string; size?: number }, { count: number; label?: string }>({
  method: 'POST',
  path: '/v1/things/:id',
  role: 'operator',
  summary: 'Takes a thing',
  audit: 'thing.take',
  schema: {
    params: objectSchema({ id: { type: 'string', pattern: '^[0-9a-f]{4}$' } }, ['id']),
    query: objectSchema({ state: { enum: ['on', 'off'] }, size: { type: 'integer', minimum: 1 } }),
    body: objectSchema(
      {
        count: { type: 'integer', minimum: 1, maximum: 5 },
        label: { type: 'string', maxLength: 8 },
        inner: objectSchema({ deep: { type: 'boolean' } }),
        free: { type: 'object' },
      },
      ['count'],
    ),
    status: 201,
  },
  bodyLimit: 2_000,
  handle: async (request) => ({
    status: 201,
    body: { id: request.params.id, query: request.query, body: request.body, request_id: request.id },
  }),
})
const plain = route({
  method: 'POST',
  path: '/v1/plain',
  role: 'operator',
  summary: 'Takes no body',
  audit: 'plain.do',
  handle: async (request) => ok({ body: request.body ?? null }),
})
const optional = route({
  method: 'POST',
  path: '/v1/optional',
  role: 'operator',
  summary: 'Takes an optional body',
  audit: 'optional.do',
  schema: { body: objectSchema({ reason: { type: 'string', default: 'none' } }) },
  handle: async (request) => ok({ body: request.body }),
})
const table = route<unknown, unknown, string>({
  method: 'POST',
  path: '/v1/table',
  role: 'operator',
  summary: 'Takes CSV or JSON',
  audit: 'table.put',
  consumes: ['text/csv'],
  schema: { body: objectSchema({ rows: { type: 'array' } }, ['rows']) },
  handle: async (request) => ok({ body: request.body }),
})
const bytes = route<unknown, unknown, AsyncIterable<Uint8Array>>({
  method: 'POST',
  path: '/v1/bytes',
  role: 'operator',
  summary: 'Takes bytes as they come',
  audit: 'bytes.put',
  consumes: ['application/octet-stream'],
  bodyLimit: 300_000,
  handle: async (request) => {
    let size = 0
    for await (const chunk of request.body) size += chunk.length
    return ok({ size })
  },
})
const broken = route({
  method: 'GET',
  path: '/v1/broken',
  role: 'viewer',
  summary: 'Fails',
  handle: async () => {
    throw new Error('password=hunter2 at /etc/shadow')
  },
})
const busy = route<unknown, { after?: number }, unknown>({
  method: 'GET',
  path: '/v1/busy',
  role: 'viewer',
  summary: 'Does not work now',
  schema: { query: objectSchema({ after: { type: 'integer' } }) },
  errors: ['store_unavailable'],
  handle: async ({ query: { after } }) => {
    throw after === undefined ? storeUnavailable('a test') : notReady('a test', { retryAfterS: after })
  },
})
const list = route({
  method: 'GET',
  path: '/v1/list',
  role: 'viewer',
  summary: 'A list',
  paged: true,
  schema: { query: objectSchema({ state: { type: 'string' } }) },
  handle: async (request) => {
    const { limit, after, cursor } = request.page()
    const from = Number(after?.[0] ?? 0)
    return ok({ from, limit, next_cursor: cursor([from + limit]) })
  },
})
const routes = [things, plain, optional, table, bytes, broken, busy, list]

let world: World
requests.before(async () => {
  world = await serveRoutes(routes)
})
requests.after(() => world.close())

requests('hands params, query and body over, coerced and checked', async () => {
  const answer = await world.ask('/v1/things/00ff?size=7&state=on', {
    method: 'POST',
    token,
    json: { count: 2 },
  })
  assert.is(answer.status, 201)
  assert.equal(answer.body.query, { size: 7, state: 'on' })
  assert.equal(answer.body.body, { count: 2 })
  assert.is(answer.body.id, '00ff')
})

requests('names every broken rule of a body with its pointer', async () => {
  const answer = await world.ask('/v1/things/00ff', {
    method: 'POST',
    token,
    json: { count: 9, label: 'much too long', 'a/b~c': 1, inner: { deep: 'yes', more: 1 } },
  })
  assert.is(answer.status, 400)
  assert.is(answer.body.error.code, 'validation_failed')
  const byPointer = Object.fromEntries(
    answer.body.error.details.map((detail: { pointer: string; message: string }) => [
      detail.pointer,
      detail.message,
    ]),
  )
  assert.is(byPointer['/a~1b~0c'], 'unknown property a/b~c')
  assert.is(byPointer['/inner/more'], 'unknown property more')
  assert.is(byPointer['/count'], 'must be <= 5')
  assert.is(byPointer['/label'], 'must have at most 8 characters')
  assert.ok(byPointer['/inner/deep'])
  const { rule, limit } = answer.body.error.details.find(
    (detail: { pointer: string }) => detail.pointer === '/count',
  )
  assert.equal([rule, limit], ['maximum', 5], 'for programs, which say it in words of their own')
  assert.not.match(answer.text, 'much too long')
})

requests('does not coerce values of a body', async () => {
  const answer = await world.ask('/v1/things/00ff', { method: 'POST', token, json: { count: '2' } })
  assert.equal(answer.body.error.details, [
    { pointer: '/count', message: 'must be integer', rule: 'type', limit: 'integer' },
  ])
})

requests('bounds the list of broken rules', async () => {
  const json = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`p${index}`, 1]))
  const answer = await world.ask('/v1/things/00ff', { method: 'POST', token, json })
  assert.is(answer.status, 400)
  assert.is(answer.body.error.details.length, 32)
})

requests('refuses unknown, repeated and ill-formed query parameters', async () => {
  for (const [query, pointer] of [
    ['nope=1', '/nope'],
    ['size=1&size=2', '/size'],
    ['size=abc', '/size'],
    ['size=0', '/size'],
    ['state=maybe', '/state'],
    ['__proto__=1', '/__proto__'],
  ] as const) {
    const answer = await world.ask(`/v1/things/00ff?${query}`, { method: 'POST', token, json: { count: 1 } })
    assert.is(answer.status, 400, query)
    assert.is(answer.body.error.details[0].pointer, pointer, query)
  }
  const none = await world.ask('/v1/broken?x=1', { token })
  assert.equal(none.body.error.details, [{ pointer: '/x', message: 'unknown parameter x' }])
})

requests('refuses a path parameter that breaks its schema', async () => {
  const answer = await world.ask('/v1/things/xyz', { method: 'POST', token, json: { count: 1 } })
  assert.is(answer.body.error.details[0].pointer, '/id')
})

requests('answers each fault of a body with its own code', async () => {
  const cases: readonly (readonly [string | undefined, string | undefined, number, string])[] = [
    ['application/json', '{"count": 1', 400, 'malformed_json'],
    ['application/json', '{"count": 1, "free": {"__proto__": {"x": 1}}}', 400, 'malformed_json'],
    ['application/json', '{"count": 1, "free": {"\\u005f_proto__": {"x": 1}}}', 400, 'malformed_json'],
    ['application/json', '{"count": 1, "free": {"constructor": {"prototype": {}}}}', 400, 'malformed_json'],
    ['application/json', `{"count": 1, "label": "${'x'.repeat(3_000)}"}`, 413, 'body_too_large'],
    ['application/json', 'null', 400, 'validation_failed'],
    ['application/json', '[]', 400, 'validation_failed'],
    ['application/json; charset=latin1', '{"count": 1}', 415, 'unsupported_media_type'],
    ['text/plain', '{"count": 1}', 415, 'unsupported_media_type'],
    ['application/x-www-form-urlencoded', 'count=1', 415, 'unsupported_media_type'],
    ['', '{"count": 1}', 415, 'unsupported_media_type'],
    [undefined, undefined, 400, 'validation_failed'],
  ]
  for (const [type, body, status, code] of cases) {
    const answer = await world.ask('/v1/things/00ff', {
      method: 'POST',
      token,
      headers: type === undefined ? {} : { 'content-type': type },
      ...(body === undefined ? {} : { body }),
    })
    assert.is(answer.status, status, `${type} ${body?.slice(0, 60)}`)
    assert.is(answer.body.error.code, code)
    assert.ok(answer.headers.get('x-request-id'))
  }
})

requests('refuses bytes that are not UTF-8, and an encoding', async () => {
  const latin = new Uint8Array([0x22, 0xff, 0x22])
  const headers = { 'content-type': 'application/json' }
  const answer = await world.ask('/v1/things/00ff', { method: 'POST', token, body: latin, headers })
  assert.is(answer.body.error.code, 'malformed_json')
  const packed = await world.ask('/v1/things/00ff', {
    method: 'POST',
    token,
    body: '{}',
    headers: { ...headers, 'content-encoding': 'gzip' },
  })
  assert.is(packed.status, 415)
})

requests('takes a charset and +json spelling of case', async () => {
  const answer = await world.ask('/v1/things/00ff', {
    method: 'POST',
    token,
    body: '{"count": 1}',
    headers: { 'content-type': 'Application/JSON; charset="UTF-8"' },
  })
  assert.is(answer.status, 201)
})

requests('takes no body, or an empty object, where none is declared', async () => {
  assert.equal((await world.ask('/v1/plain', { method: 'POST', token })).body, { body: null })
  assert.equal((await world.ask('/v1/plain', { method: 'POST', token, json: {} })).status, 200)
  const given = await world.ask('/v1/plain', { method: 'POST', token, json: { a: 1 } })
  assert.equal(given.body.error.details, [{ pointer: '/a', message: 'unknown property a' }])
  assert.is((await world.ask('/v1/plain', { method: 'POST', token, json: 3 })).status, 400)
})

requests('takes a missing body for an empty one where nothing is required', async () => {
  assert.equal((await world.ask('/v1/optional', { method: 'POST', token })).body, {
    body: { reason: 'none' },
  })
})

requests('gives text as text, JSON as JSON and bytes as they come', async () => {
  const csv = await world.ask('/v1/table', {
    method: 'POST',
    token,
    body: 'imsi,ki\n1,2\n',
    headers: { 'content-type': 'text/csv' },
  })
  assert.is(csv.body.body, 'imsi,ki\n1,2\n')
  const nothing = await world.ask('/v1/table', {
    method: 'POST',
    token,
    headers: { 'content-type': 'text/csv' },
  })
  assert.is(nothing.status, 400)
  assert.is(nothing.body.error.message, 'the body is missing; send application/json or text/csv')
  const json = await world.ask('/v1/table', { method: 'POST', token, json: { rows: [1] } })
  assert.equal(json.body.body, { rows: [1] })
  const sent = new Uint8Array(250_000)
  const headers = { 'content-type': 'application/octet-stream' }
  const raw = await world.ask('/v1/bytes', { method: 'POST', token, body: sent, headers })
  assert.is(raw.body.size, 250_000)
  assert.is((await world.ask('/v1/bytes', { method: 'POST', token, json: {} })).status, 415)
})

requests('hides what an unknown exception says, and logs it once with the request id', async () => {
  const answer = await world.ask('/v1/broken', { token, headers: { 'x-request-id': 'broken-1' } })
  assert.is(answer.status, 500)
  assert.equal(answer.body, {
    error: { code: 'internal', message: 'the service failed; look for the request id in its log' },
  })
  const logged = world.kernel.lines.filter(
    (line) => line.level === 'error' && line.facts.request_id === 'broken-1',
  )
  assert.is(logged.length, 1)
})

requests('says when to try again to whoever is told that it does not work now', async () => {
  for (const [path, wait] of [
    ['/v1/busy', '1'],
    ['/v1/busy?after=7', '7'],
  ] as const) {
    const answer = await world.ask(path, { token })
    assert.is(answer.status, 503)
    assert.is(answer.headers.get('retry-after'), wait)
  }
})

requests('takes a request id that is well formed and makes another for any other', async () => {
  for (const [given, isTaken] of [
    ['abc.DEF-1_2', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['has space', false],
    ['semi;colon', false],
    ['{"a":1}', false],
  ] as const) {
    const answer = await world.ask('/v1/plain', { method: 'POST', token, headers: { 'x-request-id': given } })
    const id = answer.headers.get('x-request-id') ?? ''
    assert.match(id, /^[A-Za-z0-9._-]{1,64}$/)
    assert.is(id === given, isTaken, given)
  }
})

requests('sends the security headers with every answer', async () => {
  for (const path of ['/v1/list', '/v1/broken', '/v1/nothing', '/v1/healthz']) {
    const { headers } = await world.ask(path, { token })
    assert.is(headers.get('x-content-type-options'), 'nosniff')
    assert.is(headers.get('cache-control'), 'no-store')
    assert.match(headers.get('content-security-policy') ?? '', "frame-ancestors 'none'")
    assert.is(headers.get('referrer-policy'), 'no-referrer')
    assert.is(headers.get('strict-transport-security'), null)
  }
})

requests('pages with a limit and an opaque cursor', async () => {
  const first = await world.ask('/v1/list?state=on', { token })
  assert.is(first.body.limit, 50)
  const second = await world.ask(`/v1/list?cursor=${first.body.next_cursor}&state=on&limit=500`, { token })
  assert.is(second.body.from, 50)
  assert.is(second.body.limit, 500)
  for (const limit of ['0', '501', '-1', '1.5', 'ten', '', '1e2', '00000001']) {
    const answer = await world.ask(`/v1/list?limit=${limit}`, { token })
    assert.is(answer.body.error?.code, 'invalid_limit', limit)
  }
  assert.is((await world.ask('/v1/list?limit=1&limit=2', { token })).body.error.code, 'invalid_limit')
  const { next_cursor: cursor } = first.body
  const flipped = `${cursor.slice(0, -2)}${cursor.at(-2) === 'A' ? 'B' : 'A'}${cursor.at(-1)}`
  for (const query of [
    `cursor=${cursor}`,
    `cursor=${cursor}&state=off`,
    `cursor=${flipped}&state=on`,
    'cursor=x&state=on',
    'cursor=&state=on',
    `cursor=${'A'.repeat(2_000)}&state=on`,
    `cursor=${cursor}&cursor=${cursor}&state=on`,
  ]) {
    const answer = await world.ask(`/v1/list?${query}`, { token })
    assert.is(answer.status, 400, query)
    assert.is(answer.body.error.code, 'invalid_cursor', query)
  }
})

requests('refuses unknown paths, features that are not here and methods that a path lacks', async () => {
  const cases: readonly (readonly [string, string, number, string, string | null])[] = [
    ['GET', '/', 404, 'not_found', null],
    ['GET', '/v1', 404, 'not_found', null],
    ['GET', '/v1/nothing', 404, 'not_found', null],
    ['POST', '/v1/plain/more', 404, 'not_found', null],
    ['GET', '/v1/sims', 404, 'feature_not_installed', null],
    ['DELETE', '/v1/esim/codes/1', 404, 'feature_not_installed', null],
    ['POST', '/v1/plain/00ff/extra', 404, 'feature_not_installed', null],
    ['GET', '/v1/plain/00ff/extra/more', 404, 'feature_not_installed', null],
    ['POST', '/v1/plain/00ff/extras', 404, 'not_found', null],
    ['GET', '/v1/simsalabim', 404, 'not_found', null],
    ['GET', '/v1/plain', 405, 'method_not_allowed', 'POST'],
    ['DELETE', '/v1/plain', 405, 'method_not_allowed', 'POST'],
    ['PUT', '/v1/list', 405, 'method_not_allowed', 'GET, HEAD'],
    ['OPTIONS', '/v1/list', 405, 'method_not_allowed', 'GET, HEAD'],
    ['PATCH', '/v1/things/00ff', 405, 'method_not_allowed', 'POST'],
    ['GET', '/v1/%zz', 400, 'validation_failed', null],
    ['GET', '/v1/list?limit=%zz', 400, 'validation_failed', null],
    ['GET', '/v1/list?nothing=%ff', 400, 'validation_failed', null],
    ['GET', `/v1/things/${'a'.repeat(600)}`, 404, 'not_found', null],
  ]
  for (const [method, path, status, code, allow] of cases) {
    const answer = await world.ask(path, { method })
    assert.is(answer.status, status, `${method} ${path}`)
    assert.is(answer.body.error.code, code, `${method} ${path}`)
    assert.is(answer.headers.get('allow'), allow, `${method} ${path}`)
  }
})

requests('answers HEAD like GET without a body', async () => {
  const head = await world.ask('/v1/list', { method: 'HEAD', token })
  const get = await world.ask('/v1/list', { token })
  assert.is(head.status, 200)
  assert.is(head.text, '')
  assert.is(head.headers.get('content-length'), String(get.text.length))
  assert.is((await world.ask('/v1/list', { method: 'HEAD' })).status, 401)
  assert.is((await world.ask('/v1/plain', { method: 'HEAD' })).status, 405)
  const events = await world.ask('/v1/events', { method: 'HEAD', token })
  assert.equal([events.status, events.text, events.headers.get('content-length')], [200, '', null])
})

requests('passes the error of a store that is away, with Retry-After where it is known', async () => {
  world.kernel.isDown = true
  try {
    const viewer = world.kernel.token('reader', ['viewer'])
    const answer = await world.ask('/v1/list', { token: viewer })
    assert.is(answer.status, 503)
    assert.is(answer.body.error.code, 'store_unavailable')
  } finally {
    world.kernel.isDown = false
  }
})

requests.run()
