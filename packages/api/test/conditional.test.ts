import { route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, serveRoutes } from './world/serve-routes.ts'

const conditional = suite('api/conditional')

const thing = route({
  method: 'GET',
  path: '/v1/thing',
  role: 'viewer',
  summary: 'A thing with a revision',
  schema: { response: { type: 'object' } },
  conditional: true,
  handle: async (request) => {
    const headers = { ETag: '"7"' }
    return request.header('if-none-match') === '"7"' ? { status: 304, headers } : { body: {}, headers }
  },
})

conditional('documents and sends 304 for a route that honours If-None-Match, and for no other', async () => {
  const plain = route({
    method: 'GET',
    path: '/v1/plain',
    role: 'viewer',
    summary: 'Plain',
    handle: async () => ({ body: {} }),
  })
  await using world = await serveRoutes([thing, plain])
  const fresh = await world.ask('/v1/thing', { token: ADMIN_TOKEN })
  assert.equal([fresh.status, fresh.headers.get('etag')], [200, '"7"'])
  const again = await world.ask('/v1/thing', { token: ADMIN_TOKEN, headers: { 'if-none-match': '"7"' } })
  assert.equal([again.status, again.text, again.headers.get('etag')], [304, '', '"7"'])
  const head = await world.ask('/v1/thing', {
    method: 'HEAD',
    token: ADMIN_TOKEN,
    headers: { 'if-none-match': '"7"' },
  })
  assert.equal([head.status, head.headers.get('etag')], [304, '"7"'])
  const { paths } = (await world.ask('/v1/openapi.json')).body
  const { responses, parameters } = paths['/v1/thing'].get
  assert.equal(Object.keys(responses['200'].headers).includes('ETag'), true)
  assert.equal(Object.keys(responses['304']), ['description', 'headers'])
  assert.equal(
    parameters.map((parameter: { readonly $ref: string }) => parameter.$ref),
    ['#/components/parameters/IfNoneMatch', '#/components/parameters/RequestId'],
  )
  assert.is(paths['/v1/plain'].get.responses['304'], undefined)
})

conditional(
  'makes the tag of what is answered when the handler gives none, and answers 304 by itself',
  async () => {
    let body: unknown = { name: 'é' }
    const own = route({
      method: 'GET',
      path: '/v1/own',
      role: 'viewer',
      summary: 'A thing without a revision',
      schema: { response: { type: 'object' } },
      conditional: true,
      handle: async () => ({ body, headers: { 'X-More': '1' } }),
    })
    const world = await serveRoutes([own])
    const ask = (known?: string): ReturnType<typeof world.ask> =>
      world.ask('/v1/own', {
        token: ADMIN_TOKEN,
        headers: known === undefined ? {} : { 'if-none-match': known },
      })
    try {
      const first = await ask()
      const etag = first.headers.get('etag') ?? ''
      assert.match(etag, /^"[\w-]{22}"$/)
      assert.equal(
        [first.status, first.text, first.headers.get('content-type')],
        [200, '{"name":"é"}', 'application/json; charset=utf-8'],
      )
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await ask(known)
        assert.equal(
          [again.status, again.text, again.headers.get('etag'), again.headers.get('x-more')],
          [304, '', etag, '1'],
        )
        assert.is(again.headers.get('content-type'), null)
      }
      assert.is((await ask('"other"')).status, 200)
      body = { name: 'e' }
      const changed = await ask(etag)
      assert.is(changed.status, 200)
      assert.is.not(changed.headers.get('etag'), etag)
    } finally {
      await world.close()
    }
  },
)

conditional(
  'documents If-Match, the new ETag and the refusal of a route that is guarded, and of no other',
  async () => {
    const put = (path: `/${string}`, more: object) =>
      route({
        method: 'PUT',
        path,
        role: 'operator',
        summary: 'Change',
        audit: 'thing.change',
        errors: ['policy_conflict'],
        ...more,
        handle: async () => ({ body: {} }),
      })
    await using world = await serveRoutes([put('/v1/guarded', { guarded: true }), put('/v1/free', {})])
    const { paths, components } = (await world.ask('/v1/openapi.json')).body
    const references = (path: string): readonly string[] =>
      paths[path].put.parameters.map(({ $ref }: { readonly $ref: string }) => $ref)
    assert.ok(references('/v1/guarded').includes('#/components/parameters/IfMatch'))
    assert.not.ok(references('/v1/free').includes('#/components/parameters/IfMatch'))
    assert.is(components.parameters.IfMatch.name, 'If-Match')
    const { responses } = paths['/v1/guarded'].put
    assert.ok('ETag' in responses['200'].headers)
    assert.match(responses['409'].description, /policy_conflict/)
    assert.not.ok('ETag' in paths['/v1/free'].put.responses['200'].headers)
  },
)

conditional('says nothing of the type of a body that it does not send', async () => {
  const own = route({
    method: 'GET',
    path: '/v1/own',
    role: 'viewer',
    summary: 'A file',
    conditional: true,
    produces: ['text/javascript'],
    handle: async () => ({ body: 'x', headers: { ETag: '"x"', 'Content-Type': 'text/javascript' } }),
  })
  await using world = await serveRoutes([own])
  const again = await world.ask('/v1/own', { token: ADMIN_TOKEN, headers: { 'if-none-match': '*' } })
  assert.equal([again.status, again.text, again.headers.get('content-type')], [304, '', null])
})

conditional('leaves an error of such a route as it is', async () => {
  const away = route({
    method: 'GET',
    path: '/v1/away',
    role: 'viewer',
    summary: 'Nothing there',
    conditional: true,
    handle: async () => ({ status: 404, body: {} }),
  })
  await using world = await serveRoutes([away])
  const answer = await world.ask('/v1/away', { token: ADMIN_TOKEN, headers: { 'if-none-match': '*' } })
  assert.equal([answer.status, answer.headers.get('etag')], [404, null])
})

conditional.run()
