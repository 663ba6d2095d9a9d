import { ok, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { ADMIN_TOKEN, serveRoutes, type World } from './world/serve-routes.ts'

const unrefusable = suite('api/unrefusable')
let world: World

const OFF = route<unknown, unknown, unknown>({
  method: 'POST',
  path: '/v1/off',
  role: 'operator',
  summary: 'Switches off',
  unrefusable: true,
  audit: 'off',
  handle: async ({ body }) => ok({ body }),
})
const SWITCH = route<unknown, unknown, unknown>({
  method: 'POST',
  path: '/v1/switch',
  role: 'operator',
  summary: 'Switches on or off',
  schema: { body: { type: 'object', properties: { on: { type: 'boolean' } }, additionalProperties: false } },
  unrefusable: (octets) => (Buffer.from(octets).includes('off') ? { on: false } : undefined),
  audit: 'switch',
  handle: async ({ body }) => ok({ body }),
})

unrefusable.before(async () => {
  world = await serveRoutes([OFF, SWITCH])
})
unrefusable.after(() => world.close())

/** Whatever comes with a request. */
const LUGGAGE: readonly { readonly body?: string; readonly headers?: Record<string, string> }[] = [
  { body: '{"off":1}', headers: { 'content-type': 'application/json' } },
  { body: '{off', headers: { 'content-type': 'application/json' } },
  { body: 'off', headers: { 'content-type': 'text/plain' } },
  { body: '["off"]', headers: { 'content-type': 'application/json; charset=latin1' } },
  { body: '{"off":1}', headers: { 'content-type': 'application/json', 'idempotency-key': 'x x' } },
]

unrefusable('a switch off is not refused for body, media type, query or key', async () => {
  for (const { body, headers = {} } of LUGGAGE) {
    const how = { method: 'POST', token: ADMIN_TOKEN, headers, ...(body === undefined ? {} : { body }) }
    const off = await world.ask('/v1/off?now=1', how)
    assert.equal([off.status, off.body], [200, { body: {} }], `${body}`)
    const switched = await world.ask('/v1/switch?now=1', how)
    assert.equal([switched.status, switched.body], [200, { body: { on: false } }], `${body}`)
  }
  assert.is((await world.ask('/v1/off', { method: 'POST', token: ADMIN_TOKEN })).status, 200)
  const huge = { method: 'POST', token: ADMIN_TOKEN, body: 'x'.repeat(2 ** 21) }
  assert.is((await world.ask('/v1/off', huge)).status, 200)
})

unrefusable('its sender is judged, and so is what does not switch off', async () => {
  const how = { method: 'POST', body: 'off' }
  assert.is((await world.ask('/v1/off', how)).status, 401)
  assert.is(
    (await world.ask('/v1/off', { ...how, token: world.kernel.token('looks', ['viewer']) })).status,
    403,
  )
  const json = { method: 'POST', token: ADMIN_TOKEN, headers: { 'content-type': 'application/json' } }
  assert.is((await world.ask('/v1/switch', { ...json, body: '{"on":1}' })).status, 400)
  assert.is((await world.ask('/v1/switch', { ...json, body: '{"on":true}' })).status, 200)
  assert.is(
    (await world.ask('/v1/switch', { ...json, body: '{}', headers: { 'content-type': 'text/plain' } }))
      .status,
    415,
  )
})

unrefusable.run()
