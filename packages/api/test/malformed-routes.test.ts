import { ok, type Route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { routeSet, serveRoutes } from './world/serve-routes.ts'

const malformed = suite('api/malformed-routes')

const good = { method: 'GET', path: '/v1/sample', role: 'viewer', summary: 'x', handle: async () => ok({}) }

/** A route as a plugin in plain JavaScript may give it: the type checker never saw it. */
function unchecked(change: object): Route {
  return { ...good, ...change } as Route
}

const REFUSED: readonly (readonly [string, object, RegExp])[] = [
  ['a role that there is not', { role: 'root' }, /GET \/v1\/sample: there is no role root; one of public, /],
  [
    'If-Match and no code to refuse a stale one with',
    { method: 'PUT', audit: 'sample.change', guarded: true, errors: ['not_found'] },
    /PUT \/v1\/sample: a guarded route names the code, of status 409 or 412/,
  ],
  ['no role', { role: undefined }, /GET \/v1\/sample: there is no role undefined/],
  [
    'a response schema that is none',
    { schema: { response: { type: 'nonsense' } } },
    /response schema of GET \/v1\/sample: .*nonsense/,
  ],
  [
    'a response schema that is a word',
    { schema: { response: 'nonsense' } },
    /response schema of GET \/v1\/sample/,
  ],
]

for (const [what, change, reason] of REFUSED) {
  malformed(`refuses an installed plugin whose route has ${what}, and serves on`, async () => {
    await using world = await serveRoutes([], { checkResponses: false })
    const set = { ...routeSet('sample', [unchecked(change)]), isInstalled: true }
    const error = await world.edge.build([set]).then(
      () => undefined,
      (refused: Error & { code?: string }) => refused,
    )
    assert.is(error?.code, 'plugin_failed')
    assert.match(error?.message ?? '', /plugin sample failed at step routes: /)
    assert.match(error?.message ?? '', reason)
    assert.is((await world.ask('/v1/healthz')).status, 200)
  })
}

malformed('compiles a schema of the build, which its tests have tried, when it is first asked', async () => {
  await using world = await serveRoutes([], { checkResponses: false })
  const response = { type: 'nonsense' }
  const count = { type: 'object', properties: { count: { type: 'integer' } } }
  const routes = [
    unchecked({ role: 'public', schema: { response, query: count } }),
    unchecked({ path: '/v1/broken', role: 'public', schema: { query: { type: 'nonsense' } } }),
  ]
  await world.edge.swap(await world.edge.build([routeSet('sample', routes)]))
  assert.is((await world.ask('/v1/sample?count=2')).status, 200)
  assert.is((await world.ask('/v1/sample?count=two')).status, 400)
  assert.is((await world.ask('/v1/broken')).status, 500)
})

malformed.run()
