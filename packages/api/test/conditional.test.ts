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
  const world = await serveRoutes([thing, plain])
  try {
    const fresh = await world.ask('/v1/thing', { token: ADMIN_TOKEN })
    assert.equal([fresh.status, fresh.headers.get('etag')], [200, '"7"'])
    const again = await world.ask('/v1/thing', { token: ADMIN_TOKEN, headers: { 'if-none-match': '"7"' } })
    assert.equal([again.status, again.text, again.headers.get('etag')], [304, '', '"7"'])
    const { paths } = (await world.ask('/v1/openapi.json')).body
    const { responses, parameters } = paths['/v1/thing'].get
    assert.equal(Object.keys(responses['200'].headers).includes('ETag'), true)
    assert.equal(Object.keys(responses['304']), ['description', 'headers'])
    assert.equal(
      parameters.map((parameter: { readonly $ref: string }) => parameter.$ref),
      ['#/components/parameters/IfNoneMatch', '#/components/parameters/RequestId'],
    )
    assert.is(paths['/v1/plain'].get.responses['304'], undefined)
  } finally {
    await world.close()
  }
})

conditional.run()
