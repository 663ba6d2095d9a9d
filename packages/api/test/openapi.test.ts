import { ERROR_CATALOGUE, objectSchema, ok, pageSchema, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, routeSet, serveRoutes } from './world/serve-routes.ts'

const openapi = suite('api/openapi')

const routes = [
  route({
    method: 'GET',
    path: '/v1/things',
    role: 'viewer',
    summary: 'List things',
    paged: true,
    schema: {
      query: objectSchema({ state: { enum: ['on', 'off'], description: 'Only these.' } }),
      response: pageSchema(
        'things',
        objectSchema({ state: { type: 'string', enum: ['on', 'off'] } }, ['state']),
      ),
    },
    handle: async () => ok({ things: [], next_cursor: null }),
  }),
  route({
    method: 'PUT',
    path: '/v1/things/:thing_id',
    role: 'operator',
    nodeToo: true,
    summary: 'Change a thing',
    audit: 'thing.change',
    rateLimit: { name: 'tx_arm' },
    errors: ['policy_conflict'],
    schema: {
      params: objectSchema({ thing_id: { type: 'string' } }, ['thing_id']),
      body: objectSchema({ state: { enum: ['on', 'off'] } }, ['state']),
      response: objectSchema({ state: { type: 'string' } }, ['state']),
    },
    handle: async () => ok({ state: 'on' }),
  }),
  route({
    method: 'POST',
    path: '/v1/things/import',
    role: 'sim:issuer',
    summary: 'Import things',
    audit: 'thing.import',
    consumes: ['text/csv'],
    handle: async () => ok(undefined),
  }),
  route({
    method: 'DELETE',
    path: '/v1/things/:thing_id',
    role: 'admin',
    summary: 'Remove a thing',
    audit: 'thing.remove',
    schema: { status: 204 },
    handle: async () => ({ status: 204 }),
  }),
]

// The document is JSON of many shapes.
// biome-ignore lint/suspicious/noExplicitAny: read by assertions only
type Doc = any

async function documentOf(): Promise<Doc> {
  await using world = await serveRoutes(routes)
  const answer = await world.ask('/v1/openapi.json')
  assert.is(answer.status, 200)
  return answer.body
}

/** Every operation with its path and method. */
function operationsOf(doc: Doc): readonly (readonly [string, string, Doc])[] {
  return Object.entries<Doc>(doc.paths).flatMap(([path, item]) =>
    Object.entries<Doc>(item).map(([method, operation]) => [path, method, operation] as const),
  )
}

openapi('is an OpenAPI 3.1 document whose every reference resolves', async () => {
  const doc = await documentOf()
  assert.is(doc.openapi, '3.1.0')
  assert.ok(doc.info.title && doc.info.version)
  const references: string[] = []
  JSON.stringify(doc, (key, value) => {
    if (key === '$ref') references.push(value)
    return value
  })
  assert.ok(references.length > 50)
  for (const reference of new Set(references)) {
    const found = reference
      .slice(2)
      .split('/')
      .reduce((node, part) => node?.[part], doc)
    assert.ok(found, reference)
  }
})

openapi('gives each operation what the specification of OpenAPI asks for', async () => {
  const doc = await documentOf()
  const ids = new Set<string>()
  for (const [path, method, operation] of operationsOf(doc)) {
    const where = `${method} ${path}`
    assert.not(ids.has(operation.operationId), where)
    ids.add(operation.operationId)
    assert.ok(operation.summary, where)
    assert.ok(Object.keys(operation.responses).length > 1, where)
    for (const [status, response] of Object.entries<Doc>(operation.responses)) {
      assert.match(status, /^[1-5][0-9][0-9]$/)
      assert.ok(response.description, `${where} ${status}`)
    }
    const inPath = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]).sort()
    const declared = operation.parameters
      .filter((parameter: Doc) => parameter.in === 'path')
      .map((parameter: Doc) => {
        assert.is(parameter.required, true, where)
        return parameter.name
      })
      .sort()
    assert.equal(declared, inPath, where)
    for (const parameter of operation.parameters) {
      if (parameter.$ref === undefined) assert.ok(parameter.name && parameter.in && parameter.schema, where)
    }
  }
})

openapi('spells paths with braces and holds every route that serves', async () => {
  const doc = await documentOf()
  const named = operationsOf(doc).map(([path, method]) => `${method} ${path}`)
  for (const expected of [
    'get /v1/things',
    'put /v1/things/{thing_id}',
    'delete /v1/things/{thing_id}',
    'get /v1/healthz',
    'get /metrics',
    'get /v1/events',
    'post /v1/plugins/{name}/load',
    'get /v1/openapi.json',
  ]) {
    assert.ok(named.includes(expected), expected)
  }
})

openapi('says who may, what it costs and what can go wrong', async () => {
  const doc = await documentOf()
  const change = doc.paths['/v1/things/{thing_id}'].put
  assert.equal(change['x-roles'], ['operator', 'admin', 'node'])
  assert.is(change['x-audit-action'], 'thing.change')
  assert.equal(change.security, [{ bearer: [] }, { certificate: [] }])
  const conflict = change.responses['409']
  assert.match(conflict.description, 'policy_conflict')
  assert.match(conflict.description, 'idempotency_key_reused')
  assert.ok(change.responses['429'].headers['Retry-After'])
  assert.ok(change.responses['401'].headers['WWW-Authenticate'])
  assert.ok(change.parameters.some((one: Doc) => one.$ref?.endsWith('IdempotencyKey')))
  assert.equal(doc.paths['/v1/healthz'].get.security, [])
  const list = doc.paths['/v1/things'].get
  assert.match(list.responses['400'].description, 'invalid_cursor')
  assert.ok(list.parameters.some((one: Doc) => one.$ref?.endsWith('Cursor')))
  assert.ok(doc.paths['/v1/things/import'].post.requestBody.content['text/csv'])
  assert.is(doc.paths['/v1/things/{thing_id}'].delete.responses['204'].content, undefined)
})

openapi('tells clients that enumerations of answers may grow, and not those of requests', async () => {
  const doc = await documentOf()
  const list = doc.paths['/v1/things'].get
  const state =
    list.responses['200'].content['application/json'].schema.properties.things.items.properties.state
  assert.match(state.description, 'More values may be added')
  assert.equal(state.enum, ['on', 'off'])
  const filter = list.parameters.find((one: Doc) => one.name === 'state')
  assert.is(filter.description, 'Only these.')
})

openapi('documents under each status the codes of the catalogue that have it', async () => {
  const doc = await documentOf()
  const statusOf = new Map(ERROR_CATALOGUE.map((factory) => [factory.code, String(factory.status)]))
  for (const [path, method, operation] of operationsOf(doc)) {
    for (const [status, response] of Object.entries<Doc>(operation.responses)) {
      if (Number(status) < 400) continue
      const codes = response.content['application/json'].schema.allOf[1].properties.error.properties.code.enum
      for (const code of codes) assert.is(statusOf.get(code), status, `${method} ${path} ${code}`)
    }
  }
})

openapi('changes with the set of routes', async () => {
  await using world = await serveRoutes(routes)
  assert.ok((await world.ask('/v1/openapi.json')).body.paths['/v1/things'])
  await world.edge.swap(await world.edge.build([routeSet('other', [])]))
  assert.is((await world.ask('/v1/openapi.json')).body.paths['/v1/things'], undefined)
  assert.is((await world.ask('/v1/things', { token: ADMIN_TOKEN })).body.error.code, 'feature_not_installed')
})

openapi.run()
