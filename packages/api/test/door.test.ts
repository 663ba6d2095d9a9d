import { objectSchema, ok, type Role, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, serveRoutes } from './world/serve-routes.ts'

const door = suite('api/door')

const ROLES_OF_ROUTES: readonly Role[] = ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin', 'node']

const routes = [
  ...ROLES_OF_ROUTES.map((role) =>
    route({
      method: 'POST',
      path: `/v1/test/${role.replace(':', '-')}`,
      role,
      summary: 'A route for one role',
      audit: `test.${role.replace(':', '_')}`,
      handle: async (request) => ok({ who: request.principal.id }),
    }),
  ),
  route({
    method: 'POST',
    path: '/v1/test/telemetry',
    role: 'operator',
    nodeToo: true,
    summary: 'For operators and nodes',
    audit: { none: 'observed state' },
    handle: async () => ok({}),
  }),
  route({
    method: 'POST',
    path: '/v1/test/:id/enroll',
    role: 'bootstrap',
    summary: 'For an unused bootstrap token',
    audit: 'node.enroll',
    schema: { params: objectSchema({ id: { type: 'string' } }, ['id']) },
    handle: async (request) => ok({ who: request.principal.id }),
  }),
  route({
    method: 'GET',
    path: '/v1/test/read',
    role: 'operator',
    summary: 'A reading route',
    handle: async () => ok({}),
  }),
]

door('answers 401 with WWW-Authenticate to no credential and to one that is not known', async () => {
  await using world = await serveRoutes(routes)
  const expired = world.kernel.token('old', ['admin'])
  world.kernel.expire(expired)
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [{}, 'unauthenticated'],
    [{ authorization: 'Basic YTpi' }, 'unauthenticated'],
    [{ authorization: 'Bearer' }, 'unauthenticated'],
    [{ authorization: 'Bearer two words' }, 'unauthenticated'],
    [{ authorization: `Bearer ${'x'.repeat(5_000)}` }, 'unauthenticated'],
    [{ authorization: 'Bearer svc_unknown' }, 'unauthenticated'],
    [{ authorization: `Bearer ${ADMIN_TOKEN}x` }, 'unauthenticated'],
    [{ authorization: `Bearer ${expired}` }, 'token_expired'],
  ]
  for (const [headers, code] of cases) {
    const answer = await world.ask('/v1/test/viewer', { method: 'POST', headers })
    assert.is(answer.status, 401)
    assert.is(answer.headers.get('www-authenticate'), 'Bearer')
    assert.is(answer.body.error.code, code)
  }
})

door('lets each role through exactly where the lattice says', async () => {
  const world = await serveRoutes(routes)
  const holders: Record<Role, readonly Role[]> = {
    viewer: ['viewer', 'operator', 'sim:issuer', 'sim:admin', 'admin'],
    operator: ['operator', 'admin'],
    'sim:issuer': ['sim:issuer', 'sim:admin', 'admin'],
    'sim:admin': ['sim:admin', 'admin'],
    admin: ['admin'],
    node: ['node'],
  }
  try {
    for (const wanted of ROLES_OF_ROUTES) {
      for (const held of ROLES_OF_ROUTES) {
        const token = world.kernel.token(`has-${held.replace(':', '-')}`, [held])
        const answer = await world.ask(`/v1/test/${wanted.replace(':', '-')}`, { method: 'POST', token })
        const isAllowed = holders[wanted].includes(held)
        assert.is(answer.status, isAllowed ? 200 : 403, `${held} on ${wanted}`)
        if (!isAllowed) assert.match(answer.body.error.message, wanted)
      }
    }
    const admin = await world.ask('/v1/test/admin', { method: 'POST', token: ADMIN_TOKEN })
    assert.is(admin.body.who, 'SVC_ADMIN_TOKEN')
  } finally {
    await world.close()
  }
})

door('audits a refused change and not a refused read', async () => {
  await using world = await serveRoutes(routes)
  const token = world.kernel.token('reader', ['viewer'])
  await world.ask('/v1/test/admin', { method: 'POST', token, headers: { 'x-request-id': 'denied-1' } })
  await world.ask('/v1/test/read', { token })
  assert.equal(world.kernel.audited, [
    {
      principal: 'id-reader',
      action: 'test.admin',
      target: '/v1/test/admin',
      outcome: 'denied',
      requestId: 'denied-1',
      detail: { method: 'POST', needs: 'admin' },
    },
  ])
})

door('takes a bootstrap token on its route and nowhere else', async () => {
  await using world = await serveRoutes(routes)
  const token = world.kernel.bootstrap('n1')
  const enrolled = await world.ask('/v1/test/n1/enroll', { method: 'POST', token })
  assert.is(enrolled.status, 200)
  assert.is(enrolled.body.who, 'bootstrap-1')
  const other = await world.ask('/v1/test/n2/enroll', { method: 'POST', token })
  assert.is(other.body.error.code, 'bootstrap_token_invalid')
  assert.is(other.headers.get('www-authenticate'), 'Bearer')
  assert.is((await world.ask('/v1/test/viewer', { method: 'POST', token })).status, 401)
  assert.is((await world.ask('/v1/test/n1/enroll', { method: 'POST', token: ADMIN_TOKEN })).status, 403)
  const roleless = world.kernel.token('roleless', [])
  assert.is((await world.ask('/v1/test/n1/enroll', { method: 'POST', token: roleless })).status, 403)
})

door('lets a node use a route that is open to nodes too', async () => {
  await using world = await serveRoutes(routes)
  for (const [held, status] of [
    ['node', 200],
    ['operator', 200],
    ['viewer', 403],
  ] as const) {
    const token = world.kernel.token(`is-${held}`, [held])
    assert.is((await world.ask('/v1/test/telemetry', { method: 'POST', token })).status, status, held)
  }
})

door('refuses before it reads a body', async () => {
  await using world = await serveRoutes(routes)
  const answer = await world.ask('/v1/test/viewer', {
    method: 'POST',
    body: '{"broken',
    headers: { 'content-type': 'text/nonsense' },
  })
  assert.is(answer.status, 401)
})

door.run()
