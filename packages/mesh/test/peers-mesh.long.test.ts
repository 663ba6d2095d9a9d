import { assert, bodyOf, codeOf, eventually, suite } from '@steeple/testkit'
import type { Member, PublishedWireguard } from '../src/members.ts'
import { unheardPeer } from './support/fake-link.ts'
import { member, type PeerBody, type PeersWorld, peersWorld, someKey } from './support/peers-world.ts'

const mesh = suite('mesh/peers-mesh')
const OVERLAY = { address: '100.64.0.1', subnet: '100.64.0.0/16' }
let world: PeersWorld

mesh.before.each(async () => {
  world = await peersWorld({
    ...{ endpoint: 'box.example.net:51820', advertise: ['10.50.0.0/16'] },
    approve: [{ boxes: 'village-*', within: '10.64.0.0/10' }],
  })
})
mesh.after.each(async () => {
  await world.close()
})

mesh('makes peers of the members and tells them of its own interface', async () => {
  const south = await joined(member('south'))
  assert.equal([south.source, south.address, south.endpoint], ['mesh', '100.64.0.2', 'wg://192.0.2.2:51820'])
  await eventually(() => assert.equal(world.link.link?.addresses, ['100.64.0.1/32']))
  await eventually(() => assert.equal(world.link.peer(south.public_key)?.allowedIps, ['100.64.0.2/32']))
  await eventually(() => assert.equal(world.link.link?.routes, ['100.64.0.2/32']))
  const told = await published()
  assert.is(told.public_key, world.link.link?.wireguard.publicKey)
  assert.equal([told.endpoint, told.listen_port], ['box.example.net:51820', 51820])
  assert.equal(told.advertised, ['10.50.0.0/16'])
  world.members.set([])
  await eventually(() => assert.is(world.link.link, undefined))
  const [gone] = await world.list('?removed=true')
  assert.equal([gone?.id, gone?.state], [south.id, 'removed'])
})

mesh('keeps a member away that an operator has removed, until it is added again', async () => {
  const one = member('south')
  const { id, public_key } = await joined(one)
  bodyOf(await world.bed.request('DELETE', `/v1/peers/${id}`), 204)
  await eventually(() => assert.is(world.link.link, undefined))
  world.members.set([one, member('west', {}, 3)])
  await eventually(async () =>
    assert.equal(
      (await world.list()).map(({ name }) => name),
      ['west'],
    ),
  )
  assert.is((await world.add({ name: 'south', public_key, routes: [] })).id, id)
})

mesh('approves routes by rule once the policy lets it, and none that runs into another', async () => {
  world.members.set([
    member('village-a', { advertised: ['10.70.0.0/16', '10.200.0.0/16', '0.0.0.0/0'] }),
    member('village-b', { advertised: ['10.70.1.0/24', '10.71.0.0/16'] }, 3),
    member('town', { advertised: ['10.72.0.0/16'] }, 4),
  ])
  await eventually(async () => assert.is((await world.list()).length, 3))
  const approved = async () =>
    Object.fromEntries((await world.list()).map(({ name, approved: routes }) => [name, routes]))
  assert.equal(await approved(), { 'village-a': [], 'village-b': [], town: [] })
  await world.allow(true)
  await eventually(async () =>
    assert.equal(await approved(), {
      'village-a': ['10.70.0.0/16'],
      'village-b': ['10.71.0.0/16'],
      town: [],
    }),
  )
  const entries = (await world.bed.audit()).filter(({ action }) => action === 'peer.approve')
  assert.equal(
    entries.map(({ detail }) => (detail as { by: string }).by),
    ['peering.approve', 'peering.approve'],
  )
})

mesh('uses routes of a member when they are approved and the policy allows it', async () => {
  const south = member('south', { advertised: ['10.70.0.0/16', '10.45.0.0/16'] })
  const { id, public_key } = await joined(south)
  await eventually(() => assert.ok(world.link.peer(public_key)))
  world.shake(public_key)
  await eventually(async () => assert.is((await world.get(id)).state, 'active'))
  assert.equal((await world.get(id)).serving, [])
  const approve = (routes: readonly string[]) =>
    world.bed.request('POST', `/v1/peers/${id}/approve`, { body: { routes } })
  assert.is(codeOf(await approve(['10.70.0.0/16']), 409), 'node_state_conflict')
  await world.allow(true)
  assert.is(codeOf(await approve(['10.71.0.0/16']), 400), 'validation_failed')
  const carries = (address: string): Promise<boolean> => world.links().carries(south.nodeId, address)
  assert.is(await carries('10.70.0.9'), false)
  assert.equal(bodyOf<PeerBody>(await approve(['10.70.0.0/16'])).approved, ['10.70.0.0/16'])
  assert.equal(await Promise.all(['10.70.0.9', '10.45.0.9', '10.71.0.9', 'nonsense'].map(carries)), [
    true,
    false,
    false,
    false,
  ])
  assert.is(await world.links().carries(member('west', {}, 3).nodeId, '10.70.0.9'), false)
  await eventually(async () => assert.equal((await world.get(id)).serving, ['10.70.0.0/16']))
  assert.equal(world.link.peer(public_key)?.allowedIps, ['100.64.0.2/32', '10.70.0.0/16'])
  bodyOf(await approve([]))
  await eventually(() => assert.equal(world.link.peer(public_key)?.allowedIps, ['100.64.0.2/32']))
})

mesh('hands a route over to another peer when the first is no longer active', async () => {
  await world.allow(true)
  const routes = ['10.70.0.0/16']
  const first = await world.add({ name: 'first', routes })
  const second = await world.add({ name: 'second', routes })
  await eventually(() => assert.ok(world.link.peer(second.public_key)))
  world.shake(first.public_key)
  await eventually(async () => assert.equal((await world.get(first.id)).serving, routes))
  world.shake(first.public_key)
  world.shake(second.public_key)
  await eventually(async () => assert.is((await world.get(second.id)).state, 'active'))
  assert.equal((await world.get(second.id)).serving, [])
  // The first one's session is lost.
  world.link.lose(first.public_key)
  await eventually(async () => assert.equal((await world.get(second.id)).serving, routes))
  assert.equal(world.link.peer(second.public_key)?.allowedIps, routes)
  assert.equal(world.link.peer(first.public_key)?.allowedIps, [])
})

mesh('takes a peer that answers for active when the clock was set before the start', async () => {
  const [here, away] = [member('here'), member('away', {}, 3)]
  await world.add({ name: 'other', routes: [] })
  await eventually(() => assert.ok(world.link.link?.wireguard.publicKey))
  // Their tunnels are from before a restart, and the time of day was put a week ahead since.
  const handshakeAtS = Math.floor(world.clock.nowMs() / 1_000) - 7 * 86_400
  for (const { wireguard } of [here, away])
    world.link.intrude({ ...unheardPeer(wireguard?.public_key ?? ''), handshakeAtS })
  world.link.silent.add(away.overlayAddress)
  world.members.set([here, away], OVERLAY)
  const asks = (): number => world.link.echoes.filter((one) => one === away.overlayAddress).length
  await eventually(() => assert.is(asks(), 3))
  const active = async (): Promise<readonly unknown[]> =>
    (await world.bed.events()).filter(({ type }) => type === 'peer.active').map(({ data }) => data)
  await eventually(async () => assert.equal(await active(), [{ name: 'here', state: 'active' }]))
  // Who does not answer is there again with its next handshake.
  world.shake(away.wireguard?.public_key ?? '')
  await eventually(async () => assert.equal((await active()).at(-1), { name: 'away', state: 'active' }))
})

mesh('changes its key once the active members are prepared', async () => {
  const one = member('south')
  const { public_key } = await joined(one)
  const before = await published()
  await eventually(() => assert.ok(world.link.peer(public_key)))
  world.shake(public_key)
  await eventually(() => assert.is(world.links().active(), 1))
  const { next_public_key: next } = bodyOf<{ readonly next_public_key: string }>(
    await world.bed.request('POST', '/v1/peers/rotate', { body: {} }),
  )
  await eventually(async () => assert.is((await published()).next_public_key, next))
  assert.is(world.link.link?.wireguard.publicKey, before.public_key)
  world.shake(public_key)
  world.members.set([withKeys(one, { prepared: [next] })])
  await eventually(() => assert.is(world.link.link?.wireguard.publicKey, next))
  await eventually(async () => {
    const { public_key, next_public_key } = await published()
    assert.equal([public_key, next_public_key], [next, null])
  })
})

mesh('holds the next key of a member with a latch until its packets come under it', async () => {
  const one = member('south')
  const { id, public_key } = await joined(one)
  const next = someKey()
  world.members.set([withKeys(one, { next_public_key: next })])
  await eventually(() => assert.ok(world.link.peer(next)?.pskSha256))
  assert.equal(world.link.peer(next)?.allowedIps, [])
  assert.equal(world.link.peer(public_key)?.allowedIps, ['100.64.0.2/32'])
  await eventually(async () => assert.equal((await published()).prepared, [next]))
  world.link.touch(next, { rxBytes: 148 })
  await eventually(() => assert.equal(world.link.peer(next)?.allowedIps, ['100.64.0.2/32']))
  assert.is(world.link.peer(next)?.pskSha256, undefined)
  await eventually(() => assert.is(world.link.peer(public_key), undefined))
  assert.is((await world.get(id)).public_key, next)
})

mesh('makes a peer of a suggested node that has proved what it is', async () => {
  world.suggested.push({
    id: '00112233-4455-4677-8899-aabbccddeeff',
    nodeId: '00000000-0000-4000-8000-000000000009',
    name: 'east',
    meshName: 'hill',
    address: '192.0.2.9',
    port: 8443,
    fingerprint: 'ab'.repeat(32),
    heardAtMs: 0,
  })
  const [heard] = await world.list()
  assert.equal([heard?.name, heard?.state], ['east', 'suggested'])
  const accepted = bodyOf<PeerBody>(
    await world.bed.request('POST', `/v1/peers/${heard?.id}/accept`, { body: {} }),
  )
  assert.equal(
    [accepted.source, accepted.endpoint, accepted.advertised, accepted.approved],
    ['mdns', 'wg://192.0.2.9:51821', ['10.77.0.0/16'], []],
  )
  // It is heard of still, and nothing to accept any more.
  assert.equal(
    (await world.list()).map(({ id }) => id),
    [accepted.id],
  )
  await eventually(() => assert.ok(world.link.peer(accepted.public_key)))
})

mesh('suggests no box that the mesh has put out', async () => {
  const south = member('south')
  await joined(south)
  world.suggested.push({
    id: '00112233-4455-4677-8899-aabbccddeeff',
    nodeId: south.nodeId,
    name: 'south',
    meshName: 'south',
    address: '192.0.2.9',
    port: 8443,
    fingerprint: 'ab'.repeat(32),
    heardAtMs: 0,
  })
  world.members.set([], OVERLAY)
  await eventually(async () => assert.equal(await world.list(), []))
})

async function joined(one: Member): Promise<PeerBody> {
  world.members.set([one], OVERLAY)
  return await eventually(async () => {
    const [peer] = await world.list()
    if (peer === undefined) throw new Error('it is no peer yet')
    return peer
  })
}

async function published(): Promise<PublishedWireguard> {
  return await eventually(() => {
    const last = world.members.published.at(-1)
    if (last === undefined) throw new Error('nothing was told')
    return last
  })
}

function withKeys(one: Member, keys: Partial<PublishedWireguard>): Member {
  if (one.wireguard === undefined) throw new Error('it has published nothing')
  return { ...one, wireguard: { ...one.wireguard, ...keys } }
}

mesh.run()
