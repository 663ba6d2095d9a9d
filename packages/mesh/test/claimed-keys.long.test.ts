import { assert, eventually, suite } from '@steeple/testkit'
import type { PeersParts } from '../src/peers/parts.ts'
import { strangeAddress } from '../src/peers/reserved-networks.ts'
import { member, type PeersWorld, peersWorld, someKey } from './support/peers-world.ts'

const claimed = suite('mesh/claimed-keys')
const OVERLAY = { address: '100.64.0.1', subnet: '100.64.0.0/16' }
const ROUTE = '10.20.0.0/16'
let world: PeersWorld

claimed.before.each(async () => {
  world = await peersWorld()
})
claimed.after.each(async () => {
  await world.close()
})

claimed('gives nothing of a peer of an operator to a member that says it has its key', async () => {
  await world.allow(true)
  const { id, public_key, endpoint } = await world.add({ routes: [ROUTE] })
  const eve = member('eve', { public_key, advertised: [ROUTE], endpoint: '203.0.113.9:7' })
  world.members.set([eve], OVERLAY)
  const why = 'the member eve is refused: its key is that of the peer north'
  await eventually(async () => assert.match(await world.health(), why))
  const kept = await world.get(id)
  assert.equal([kept.source, kept.endpoint, kept.approved, kept.address], ['static', endpoint, [ROUTE], null])
  assert.is(world.link.peer(public_key)?.endpoint, '192.0.2.1:51820')
  assert.equal((await world.list()).length, 1)
  // The operator takes the link by hand away: the box comes as a member, and nothing of it is approved.
  assert.is((await world.bed.request('DELETE', `/v1/peers/${id}`)).status, 204)
  await eventually(async () => assert.is((await world.get(id)).source, 'mesh'))
  assert.equal((await world.get(id)).approved, [])
})

claimed('lets no member claim the key that a peer of an operator goes over to', async () => {
  const { id } = await world.add({ routes: [ROUTE] })
  const next = someKey()
  const told = await world.bed.request('POST', `/v1/peers/${id}/rotate`, { body: { public_key: next } })
  assert.is(told.status, 200)
  world.members.set([member('eve', { public_key: next })], OVERLAY)
  await eventually(async () => assert.match(await world.health(), 'its key is that of the peer north'))
  assert.is((await world.get(id)).next_public_key, next)
  assert.equal((await world.list()).length, 1)
})

claimed('believes no address of a member that the mesh cannot have here', async () => {
  const stranger = { ...member('eve', {}, 9), overlayAddress: '192.0.2.77' }
  const twin = { ...member('twin', {}, 8), overlayAddress: '100.64.0.7' }
  world.members.set([member('west', {}, 7)], OVERLAY)
  await eventually(async () => assert.is((await world.list()).length, 1))
  world.members.set([member('west', {}, 7), stranger, twin], OVERLAY)
  await eventually(async () => {
    assert.match(
      await world.health(),
      'the member eve is refused: its address 192.0.2.77 is not in 100.64.0.0/16',
    )
    assert.match(
      await world.health(),
      'the member twin is refused: its address 100.64.0.7 is that of the peer west',
    )
  })
  assert.equal(
    (await world.list()).map(({ name }) => name),
    ['west'],
  )
  assert.equal(world.link.link?.routes, ['100.64.0.7/32'])
})

claimed('believes no address in a network of this machine', () => {
  const strange = strangeAddress({ context: ownMachine('10.45.0.0/16', '10.45.0.0/16') })
  assert.match(strange('10.45.0.9') ?? '', /is in 10\.45\.0\.0\/16, the addresses of phones/)
  const sound = strangeAddress({ context: ownMachine('100.64.0.0/16', '10.45.0.0/16') })
  assert.is(sound('100.64.3.9'), undefined)
})

claimed('keeps what is approved of a member that changes its key', async () => {
  await world.allow(true)
  const [first, second] = [someKey(), someKey()]
  world.members.set([member('north', { public_key: first, advertised: [ROUTE] })], OVERLAY)
  await eventually(async () => assert.is((await world.list()).length, 1))
  const [peer] = await world.list()
  assert.ok(peer)
  const approval = await world.bed.request('POST', `/v1/peers/${peer.id}/approve`, {
    body: { routes: [ROUTE] },
  })
  assert.is(approval.status, 200)
  world.members.set([member('north', { public_key: second, advertised: [ROUTE] })], OVERLAY)
  await eventually(async () => assert.is((await world.get(peer.id)).public_key, second))
  assert.equal((await world.get(peer.id)).approved, [ROUTE])
})

/** What the question looks at; the rest is left out. */
function ownMachine(subnet: string, pool: string): PeersParts['context'] {
  const settings = { core: 'core_a', core_a: { subnet: pool }, core_b: { subnet: pool } }
  return { settings, config: { subnet, interface: 'svcmesh0' } } as unknown as PeersParts['context']
}

claimed.run()
