import { objectSchema, PAGE_QUERY, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { requestIdFrom } from '../src/pipeline/pipeline.ts'
import { ADMIN_TOKEN, serveRoutes } from './world/serve-routes.ts'

const secrets = suite('api/secrets-in-requests')

secrets('takes no request id that has the form of a token: it would be in every log line', () => {
  for (const id of ['req-1', '4bf92f3577b34da6a3ce929d0e0e4736', 'svc', 'svc-1', 'svc_1', 'a.svc_'])
    assert.is(requestIdFrom(id), id)
  const secret = 'A'.repeat(43)
  for (const id of [
    `svc_${secret}`,
    `svc_${secret}x`,
    `svcb_0123456789abcdef0123456789abcdef_`,
    `x.svc_${secret}`,
  ])
    assert.match(requestIdFrom(id), /^[0-9a-f-]{36}$/)
})

secrets('does not repeat a long limit: it is no page size but perhaps a number of someone', async () => {
  const list = route({
    method: 'GET',
    path: '/v1/list',
    role: 'viewer',
    summary: 'A list',
    schema: { query: objectSchema(PAGE_QUERY) },
    paged: true,
    handle: async (request) => ({ body: { limit: request.page().limit } }),
  })
  await using world = await serveRoutes([list])
  const ask = (limit: string) => world.ask(`/v1/list?limit=${limit}`, { token: ADMIN_TOKEN })
  assert.is((await ask('501')).body.error.message, 'limit is 501; send one of 1 to 500')
  const { status, body } = await ask('999991234567890')
  assert.equal([status, body.error.code], [400, 'invalid_limit'])
  assert.not.match(body.error.message, '99999')
})

secrets('keeps a name that no plugin has out of the audit trail, and a refusal sealed', async () => {
  await using world = await serveRoutes([])
  const name = 'a'.repeat(32)
  const path = `/v1/plugins/${name}/load`
  const headers = { 'idempotency-key': 'key' }
  const first = await world.ask(path, { method: 'POST', token: ADMIN_TOKEN, headers })
  assert.equal([first.status, first.body.error.code], [404, 'plugin_not_found'])
  assert.equal(
    world.kernel.audited.map(({ action, target, outcome }) => [action, target, outcome]),
    [['plugin.load', 'unknown', 'failed']],
  )
  assert.equal(
    [...world.kernel.kept.values()].map(({ reply }) => [reply.status, reply.sealed]),
    [[404, true]],
  )
  const again = await world.ask(path, { method: 'POST', token: ADMIN_TOKEN, headers })
  assert.equal(again.body, first.body)
  assert.is(again.headers.get('idempotency-replayed'), 'true')
})

secrets.run()
