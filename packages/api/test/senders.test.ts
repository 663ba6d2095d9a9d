import type { IncomingMessage } from 'node:http'
import { networkScope, ok, route } from '@steeple/contracts'
import { assert, suite, testSeed } from '@steeple/testkit'
import fc from 'fast-check'
import type { EdgeKernel } from '../src/edge-kernel.ts'
import { clientOf, createSenders } from '../src/pipeline/shares.ts'
import { serveRoutes, type World } from './world/serve-routes.ts'

const senders = suite('api/senders')

const seen: { readonly address: string; readonly isTls: boolean | undefined }[] = []
const routes = [
  route({
    method: 'GET',
    path: '/v1/who',
    role: 'public',
    summary: 'Who asks',
    handle: async ({ peerAddress, proxy }) => {
      seen.push({ address: peerAddress, isTls: proxy?.isTls })
      return ok({})
    },
  }),
]

let world: World
senders.before.each(async () => {
  seen.length = 0
  world = await serveRoutes(routes)
})
senders.after.each(() => world.close())

function trust(...networks: readonly string[]): void {
  world.kernel.changeSettings({ server: { trusted_proxies: networks } })
}

async function addressOf(headers: Readonly<Record<string, string>>): Promise<string | undefined> {
  await world.ask('/v1/who', { headers })
  return seen.at(-1)?.address
}

senders('believes nobody by default', async () => {
  const address = await addressOf({ 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' })
  assert.match(address ?? '', /127\.0\.0\.1$/)
  assert.is(seen[0]?.isTls, undefined)
})

senders('tells an IPv4 address in one form, whatever the service listens on', () => {
  const of = createSenders({
    settings: world.kernel.settings,
    onSettings: () => undefined,
  } as unknown as EdgeKernel)
  const from = (remoteAddress: string) =>
    of({ socket: { remoteAddress }, headers: {} } as unknown as IncomingMessage)
  assert.is(from('::ffff:127.0.0.1').address, '127.0.0.1')
  assert.is(from('127.0.0.1').address, '127.0.0.1')
  assert.is(from('::1').address, '::1')
})

senders('believes a proxy that is named, from the next request on, and no other', async () => {
  trust('127.0.0.0/8')
  assert.is(
    await addressOf({ 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }),
    '203.0.113.9',
  )
  assert.is(seen.at(-1)?.isTls, true)
  assert.is(
    await addressOf({ 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https, http' }),
    '203.0.113.9',
  )
  assert.is(seen.at(-1)?.isTls, false)
  assert.match((await addressOf({})) ?? '', /127\.0\.0\.1$/)
  trust('192.0.2.1/32')
  assert.match((await addressOf({ 'x-forwarded-for': '203.0.113.9' })) ?? '', /127\.0\.0\.1$/)
})

senders('takes the last address that is no proxy, whatever a client has written before it', () => {
  const scope = networkScope(['192.0.2.0/24', '2001:db8::1'])
  const of = (list: string): string => clientOf('192.0.2.1', list === '' ? [] : list.split(','), scope.has)
  const cases = [
    ['', '192.0.2.1'],
    ['203.0.113.9', '203.0.113.9'],
    ['127.0.0.1,203.0.113.9', '203.0.113.9'],
    ['10.0.0.1,203.0.113.9,192.0.2.7,2001:db8::1', '203.0.113.9'],
    ['192.0.2.8,192.0.2.9', '192.0.2.8'],
    ['127.0.0.1,unknown', '192.0.2.1'],
    ['203.0.113.9,192.0.2.7,_hidden', '192.0.2.1'],
    ['127.0.0.1,,', '192.0.2.1'],
    ['203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8::9]:4711', '2001:db8::9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['0177.0.0.1', '192.0.2.1'],
    ['127.1', '192.0.2.1'],
  ]
  for (const [list = '', address = ''] of cases) assert.is(of(list), address, list)
})

senders('lets nothing that a client writes be taken for its address', () => {
  const scope = networkScope(['192.0.2.1'])
  const forged = fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 8 })), { maxLength: 6 })
  fc.assert(
    fc.property(
      forged,
      (list) => clientOf('192.0.2.1', [...list, '203.0.113.9'], scope.has) === '203.0.113.9',
    ),
    { seed: testSeed() },
  )
})

senders('shows metrics through a proxy to whom may read them alone', async () => {
  const status = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    (await world.ask('/metrics', { headers })).status
  assert.is(await status({}), 200)
  // A proxy on this machine that is not named would open them to everybody.
  assert.is(await status({ 'x-forwarded-for': '10.0.0.1' }), 403)
  trust('127.0.0.0/8')
  assert.is(await status({ 'x-forwarded-for': '10.0.0.1' }), 200)
  assert.is(await status({ 'x-forwarded-for': '203.0.113.9' }), 403)
})

senders.run()
