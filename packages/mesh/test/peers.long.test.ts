import { assert, bodyOf, codeOf, eventually, suite } from '@steeple/testkit'
import type { SeenPeer } from '../src/wireguard/dump.ts'
import { unheardPeer } from './support/fake-link.ts'
import { type PeersWorld, peerBody, peersWorld, someKey } from './support/peers-world.ts'

const peers = suite('mesh/peers')
let world: PeersWorld

peers.before.each(async () => {
  world = await peersWorld()
})
peers.after.each(async () => {
  await world.close()
})

peers('makes an interface for the first peer and takes it away with the last', async () => {
  assert.is(world.link.link, undefined)
  const { id, public_key } = await world.add()
  await eventually(() => assert.ok(world.link.peer(public_key)))
  assert.is(world.link.link?.wireguard.listenPort, 51820)
  assert.is(world.link.peer(public_key)?.endpoint, '192.0.2.1:51820')
  bodyOf(await world.bed.request('DELETE', `/v1/peers/${id}`), 204)
  await eventually(() => assert.is(world.link.link, undefined))
})

peers('is pending until a handshake, then active with its routes', async () => {
  const { id, public_key, state, routes } = await world.add()
  assert.is(state, 'pending')
  assert.equal(routes, [])
  await eventually(() => assert.ok(world.link.peer(public_key)))
  await eventually(async () => assert.match((await world.get(id)).reason ?? '', /no handshake yet/))
  world.shake(public_key)
  await eventually(() => assert.equal(world.link.link?.routes, ['10.20.0.0/16']))
  assert.equal(world.link.peer(public_key)?.allowedIps, ['10.20.0.0/16'])
})

peers('loses its routes at the first look that finds its handshake three minutes old', async () => {
  // Its tunnel is from before a restart of the service, and has two minutes and a half behind it.
  await world.add({ name: 'other', routes: [] })
  await eventually(() => assert.ok(world.link.link?.wireguard.publicKey))
  const public_key = someKey()
  const handshakeAtS = Math.floor(world.clock.nowMs() / 1000) - 150
  const fromMs = world.clock.monotonicMs()
  world.link.intrude({ ...unheardPeer(public_key), handshakeAtS })
  const { id } = await world.add({ public_key })
  const tellsOf = async (type: string): Promise<boolean> =>
    (await world.bed.events()).some((event) => event.type === type && event.subject === id)
  await eventually(() => tellsOf('peer.active'))
  await eventually(() => tellsOf('peer.stale'))
  assert.equal(world.link.link?.routes, [])
  assert.equal(world.link.peer(public_key)?.allowedIps, [])
  const { looksMs, withdrawnAtMs = 0 } = world.link
  // Looks are five seconds apart; ages are in whole seconds.
  const isLate = (atMs: number): boolean => atMs > fromMs + 31_000 && atMs <= withdrawnAtMs
  assert.ok(looksMs.filter(isLate).length <= 1, `${looksMs} and withdrawn at ${withdrawnAtMs}`)
  assert.ok(withdrawnAtMs >= fromMs + 29_000)
  await eventually(async () => assert.is((await world.get(id)).state, 'stale'))
  const stale = await world.get(id)
  assert.match(stale.reason ?? '', /last handshake was \d+ s ago/)
  assert.equal([stale.serving, stale.approved], [[], ['10.20.0.0/16']])
})

peers('keeps a peer active when the wall clock is a day off', async () => {
  const { id, public_key } = await world.add()
  await eventually(() => assert.ok(world.link.peer(public_key)))
  const fromMs = world.clock.monotonicMs()
  world.shake(public_key)
  await eventually(async () => assert.is((await world.get(id)).state, 'active'))
  for (const days of [1, -2]) {
    world.clock.jump(world.clock.nowMs() + days * 86_400_000)
    const { state } = await world.get(id)
    if (world.clock.monotonicMs() - fromMs < 170_000) assert.is(state, 'active')
  }
})

peers('says why it cannot make links, and makes them when it can', async () => {
  world.link.problem = 'wg is not installed (Debian: wireguard-tools)'
  const { id, public_key } = await world.add()
  await eventually(async () => assert.match((await world.get(id)).reason ?? '', /wg is not installed/))
  world.link.problem = undefined
  await eventually(() => assert.ok(world.link.peer(public_key)))
  await eventually(async () => assert.match((await world.get(id)).reason ?? '', /no handshake yet/))
})

peers('puts back what somebody has changed, and leaves what somebody else has made', async () => {
  const { public_key } = await world.add()
  await eventually(() => assert.ok(world.link.peer(public_key)))
  const foreign = { ...peerOf(public_key), publicKey: someKey(), allowedIps: ['10.99.0.0/16'] }
  world.link.intrude(foreign)
  world.link.touch(public_key, { allowedIps: ['10.66.0.0/16'], keepaliveS: undefined })
  await eventually(() => assert.is(world.link.peer(public_key)?.keepaliveS, 25))
  assert.equal(world.link.peer(public_key)?.allowedIps, [])
  assert.equal(world.link.peer(foreign.publicKey), foreign)
  await eventually(async () => {
    const answer = await world.bed.request('GET', '/v1/peers/self')
    assert.is(bodyOf<{ readonly foreign_peers: number }>(answer).foreign_peers, 1)
  })
  await world.bed.unload('mesh')
  assert.equal(world.link.link?.wireguard.peers, [foreign])
})

peers('removes its interface when it is unloaded', async () => {
  const { public_key } = await world.add()
  await eventually(() => assert.ok(world.link.peer(public_key)))
  await world.bed.unload('mesh')
  assert.is(world.link.link, undefined)
})

peers('keeps the tunnels when the service stops', async () => {
  const { public_key } = await world.add()
  await eventually(() => assert.ok(world.link.peer(public_key)))
  await world.bed.stop()
  assert.ok(world.link.peer(public_key))
})

peers('leaves an interface of somebody else alone', async () => {
  const foreign = {
    owner: 'foreign',
    isUp: true,
    addresses: ['10.8.0.1/24'],
    wireguard: { publicKey: someKey(), listenPort: 51820, peers: [] },
    routes: [],
  } as const
  world.link.link = foreign
  const { id } = await world.add()
  await eventually(async () => assert.match((await world.get(id)).reason ?? '', /somebody else's/))
  assert.equal(world.link.link, foreign)
  await world.bed.unload('mesh')
  assert.equal(world.link.link, foreign)
})

peers('refuses a name or a key that is there, and takes back what was removed', async () => {
  const body = peerBody()
  const { id } = await world.add(body)
  const again = async (more: object): Promise<string> =>
    codeOf(
      await world.bed.request('POST', '/v1/peers', { body: { ...peerBody(), routes: [], ...more } }),
      409,
    )
  assert.is(await again({ name: 'north' }), 'peer_exists')
  assert.is(await again({ name: 'south', public_key: body.public_key }), 'peer_exists')
  bodyOf(await world.bed.request('DELETE', `/v1/peers/${id}`), 204)
  bodyOf(await world.bed.request('DELETE', `/v1/peers/${id}`), 204)
  assert.equal(await world.list(), [])
  const [removed] = await world.list('?removed=true')
  assert.equal([removed?.id, removed?.state, removed?.disabled], [id, 'removed', true])
  assert.is((await world.add(body)).id, id)
})

peers('seals a preshared key and shows it to nobody but the interface', async () => {
  const preshared_key = someKey()
  const { id, public_key, has_preshared_key } = await world.add({ preshared_key })
  assert.is(has_preshared_key, true)
  await eventually(() => assert.ok(world.link.peer(public_key)?.pskSha256))
  const told = JSON.stringify([await world.get(id), await world.bed.audit(), await world.bed.events()])
  assert.not.ok(told.includes(preshared_key))
})

peers('refuses what is no peer, with the place of each mistake', async () => {
  const response = await world.bed.request('POST', '/v1/peers', {
    body: {
      name: 'x',
      endpoint: 'udp://192.0.2.1:1',
      public_key: `${'A'.repeat(43)}B`,
      routes: ['10.20.0.1/16', '0.0.0.0/0', '10.45.7.0/24', '127.0.0.0/8', '100.64.0.0/24'],
    },
  })
  const { error } = bodyOf<{ error: { code: string; details: { pointer: string }[] } }>(response, 400)
  assert.is(error.code, 'validation_failed')
  const pointers = error.details.map(({ pointer }) => pointer).sort()
  assert.equal(
    [...new Set(pointers)],
    ['/endpoint', '/public_key', '/routes/0', '/routes/1', '/routes/2', '/routes/3', '/routes/4'],
  )
})

peers('refuses networks of IPv6 and says that it carries none, whatever the policy allows', async () => {
  await world.allow(true)
  for (const route of ['2001:db8::/32', '2001:db8::1/128', '::/0']) {
    const response = await world.bed.request('POST', '/v1/peers', {
      body: { ...peerBody(), routes: ['10.20.0.0/16', route] },
    })
    const { error } = bodyOf<{ error: { details: readonly object[] } }>(response, 400)
    assert.equal(error.details, [
      { pointer: '/routes/1', message: 'is a network of IPv6; peers carry IPv4 alone' },
    ])
  }
  assert.equal(await world.list(), [])
})

peers('takes a default route when the policy allows it, and lets it go when it no longer does', async () => {
  await world.allow(true)
  const { id, public_key } = await world.add({ routes: ['0.0.0.0/0'] })
  await eventually(() => assert.ok(world.link.peer(public_key)))
  world.shake(public_key)
  await eventually(() => assert.equal(world.links().wayOut(), { peerId: id, name: 'north' }))
  // The kernel's tables are breakout's.
  assert.equal(world.link.link?.routes, [])
  assert.equal(world.link.peer(public_key)?.allowedIps, ['0.0.0.0/0'])
  await world.allow(false)
  await eventually(() => assert.equal(world.link.peer(public_key)?.allowedIps, []))
  await eventually(() => assert.is(world.links().wayOut(), undefined))
})

function peerOf(publicKey: string): SeenPeer {
  const peer = world.link.peer(publicKey)
  if (peer === undefined) throw new Error('no such peer')
  return peer
}

peers.run()
