import { isServiceError } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { blockList, callersNetwork, createPeers, plainCaller } from '../src/es9/peers.ts'
import { es9Routes } from '../src/routes/es9-routes.ts'
import { world } from './support/world.ts'

const peers = suite('esim-smdp/peers')

peers('takes plain calls of this machine and of named proxies alone', () => {
  const proxies = blockList(['10.0.0.0/8', '2001:db8::/32', 'nonsense', '10.0.0.0/99'])
  for (const [peer, forwarded, network] of [
    ['127.0.0.1', undefined, ''],
    ['::1', undefined, ''],
    ['::ffff:127.0.0.1', undefined, ''],
    ['127.0.0.1', '192.0.2.7', '192.0.2.7'],
    ['10.1.2.3', '203.0.113.1, 192.0.2.7', '192.0.2.7'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    ['::ffff:10.1.2.3', '2001:db8:1:2:3::4', '2001:db8:1:2::/64'],
    ['2001:db8::1', '192.0.2.7', '192.0.2.7'],
    ['10.1.2.3', '192.0.2.7:55012', '192.0.2.7'],
    ['10.1.2.3', '[2001:db8:1:2:3::4]:443', '2001:db8:1:2::/64'],
    ['10.1.2.3', 'unknown', '10.1.2.3'],
    ['127.0.0.1', 'unknown', ''],
    ['192.0.2.1', undefined, undefined],
    ['192.0.2.1', '127.0.0.1', undefined],
    ['2001:db9::1', undefined, undefined],
    ['', undefined, undefined],
  ] as const)
    assert.is(plainCaller(peer, forwarded, proxies), network, `${peer} ${forwarded}`)
})

peers('says to others which way is theirs', async () => {
  const all = await world()
  const [first] = es9Routes(all.parts, all.es9)
  // What the handler looks at before it refuses.
  const request = { peerAddress: '192.0.2.1', header: () => '127.0.0.1' } as unknown as Parameters<
    NonNullable<typeof first>['handle']
  >[0]
  const error = await Promise.resolve(first?.handle(request)).catch((thrown: unknown) => thrown)
  assert.ok(isServiceError(error))
  assert.equal([error.code, error.status], ['forbidden', 403])
  assert.match(error.message, /esim\.behind_proxy.*esim\.listen/)
  await all.close()
})

peers('takes an address of IPv6 for its /64', () => {
  assert.is(callersNetwork('2001:db8::1'), '2001:db8:0:0::/64')
  assert.is(callersNetwork('2001:DB8:0:0:ffff::9'), '2001:db8:0:0::/64')
  assert.is(callersNetwork('fe80::1%eth0'), 'fe80:0:0:0::/64')
  assert.is(callersNetwork('no address'), '')
  for (const local of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'])
    assert.is(callersNetwork(local), '', local)
  assert.is(callersNetwork('::ffff:102:304'), callersNetwork('1.2.3.4'))
})

peers('has room for few networks, and forgets the one that was silent longest', () => {
  const all = createPeers()
  for (let call = 0; call < 400; call += 1) assert.ok(all.admit('a', 0))
  assert.not.ok(all.admit('a', 0))
  // It gains by waiting, and never more than a burst.
  assert.ok(all.admit('a', 1_000))
  for (let other = 0; other < 10_000; other += 1) all.admit(`n${other}`, 1_000)
  assert.ok(all.admit('a', 1_000))
})

peers.run()
