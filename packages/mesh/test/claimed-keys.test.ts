import { assert, eventually, suite } from '@steeple/testkit'
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

claimed('gives the routes of an operator to no member that says it has the key of their peer', async () => {
  await world.allow(true)
  const { id, public_key, approved } = await world.add({ routes: [ROUTE] })
  assert.equal(approved, [ROUTE])
  const says = (publicKey: string) => member('eve', { publicKey, advertised: [ROUTE] })
  world.members.set([says(public_key)], OVERLAY)
  await eventually(async () => assert.is((await world.get(id)).source, 'mesh'))
  assert.equal((await world.get(id)).approved, [])
  const another = someKey()
  world.members.set([says(another)], OVERLAY)
  await eventually(() => assert.ok(world.link.peer(another)))
  world.shake(another)
  await eventually(async () => assert.is((await world.get(id)).state, 'active'))
  assert.equal((await world.get(id)).serving, [])
  assert.equal(world.link.peer(another)?.allowedIps, ['100.64.0.2/32'])
})

claimed('keeps what is approved of a member that changes its key', async () => {
  await world.allow(true)
  const [first, second] = [someKey(), someKey()]
  world.members.set([member('north', { publicKey: first, advertised: [ROUTE] })], OVERLAY)
  await eventually(async () => assert.is((await world.list()).length, 1))
  const [peer] = await world.list()
  assert.ok(peer)
  const approval = await world.bed.request('POST', `/v1/peers/${peer.id}/approve`, {
    body: { routes: [ROUTE] },
  })
  assert.is(approval.status, 200)
  world.members.set([member('north', { publicKey: second, advertised: [ROUTE] })], OVERLAY)
  await eventually(async () => assert.is((await world.get(peer.id)).public_key, second))
  assert.equal((await world.get(peer.id)).approved, [ROUTE])
})

claimed.run()
