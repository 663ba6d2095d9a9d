import { ok, route } from '@steeple/contracts'
import { assert, eventually, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, type Answer, serveRoutes, type World } from './world/serve-routes.ts'

const failures = suite('api/failed-credentials')

const READ = route({
  method: 'GET',
  path: '/v1/read',
  role: 'viewer',
  summary: 'A reading route',
  handle: async () => ok({}),
})
const LIMITS = { failures: { burst: 5, perSecond: 0.001, auditMs: 300 } }
const ask = (world: World, token: string): Promise<Answer> => world.ask('/v1/read', { token })

failures('throttles what does not hold, and lets through what does', async () => {
  await using world = await serveRoutes([READ], { limits: LIMITS })
  const viewer = `svc_${'v'.repeat(43)}`
  world.kernel.tokenOf(viewer, ['viewer'])
  for (let turn = 0; turn < 5; turn++) assert.is((await ask(world, `guess-${turn}`)).status, 401)
  const refused = await ask(world, 'guess-6')
  assert.is(refused.status, 429)
  assert.is(refused.body.error.code, 'rate_limited')
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  // What nobody can guess is looked up, and told apart.
  assert.is((await ask(world, `svc_${'x'.repeat(43)}`)).status, 429)
  assert.is((await ask(world, viewer)).status, 200)
  assert.is((await world.ask('/v1/healthz')).status, 200)
  // Nobody has come with the admin token from here: it might be the next guess.
  assert.is((await ask(world, ADMIN_TOKEN)).status, 429)
})

failures('lets the administrator go on from an address that others misuse', async () => {
  await using world = await serveRoutes([READ], { limits: LIMITS })
  assert.is((await ask(world, ADMIN_TOKEN)).status, 200)
  for (let turn = 0; turn < 20; turn++) await ask(world, `guess-${turn}`)
  assert.is((await ask(world, 'guess')).status, 429)
  assert.is((await ask(world, ADMIN_TOKEN)).status, 200)
  assert.is((await ask(world, `${ADMIN_TOKEN}x`)).status, 429)
})

failures('gives failures back with time', async () => {
  await using world = await serveRoutes([READ], {
    // Slower than anybody asks, also on a busy machine.
    limits: { failures: { burst: 2, perSecond: 0.5, auditMs: 60_000 } },
  })
  await eventually(async () => (await ask(world, 'guess')).status === 429)
  await eventually(async () => (await ask(world, ADMIN_TOKEN)).status === 200)
})

failures('counts no request without a credential', async () => {
  await using world = await serveRoutes([READ], { limits: LIMITS })
  for (let turn = 0; turn < 20; turn++) assert.is((await world.ask('/v1/read')).status, 401)
  assert.is((await ask(world, 'guess')).status, 401)
})

failures('audits them in sum, what is left when it closes too', async () => {
  const world = await serveRoutes([READ], { limits: LIMITS })
  const entries = () => world.kernel.audited.filter(({ action }) => action === 'auth.refuse')
  for (let turn = 0; turn < 12; turn++) await ask(world, `guess-${turn}`)
  await eventually(() => entries().length > 0)
  await ask(world, 'one-more')
  await world.close()
  assert.ok(entries().length >= 2 && entries().length <= 4, `${entries().length} entries`)
  for (const { target, outcome, principal } of entries()) {
    assert.equal([target, outcome, principal], ['127.0.0.1', 'denied', 'anonymous'])
  }
  const counted = entries().reduce((sum, { detail }) => sum + Number(detail?.failures), 0)
  assert.is(counted, 13)
  assert.not.match(JSON.stringify(world.kernel.audited), 'guess')
})

failures.run()
