import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type Surroundings, wantedOf } from '../../src/breakout/wanted.ts'
import { contains, parseCidr } from '../../src/peers/cidr.ts'

const wanted = suite('mesh/breakout/wanted')

const POOL = '10.45.0.0/16'
const DEVICE = 'svcmesh0'
const route = (cidr: string, device: string) => ({ network: net(cidr), device })
const TUN = route(POOL, 'ogstun')
const UPLINK = route('0.0.0.0/0', 'eth0')
const AROUND: Surroundings = {
  isDriven: true,
  isLocal: true,
  pools: [POOL],
  routes: [TUN, UPLINK],
  device: undefined,
  overlay: undefined,
  hasWayOut: false,
  offered: [],
  direct: () => [],
  isForwarding: false,
}
const MESH = { device: DEVICE, overlay: '100.64.0.0/16' }

function net(cidr: string) {
  const parsed = parseCidr(cidr)
  if (parsed === undefined) throw new Error(`${cidr} is no network`)
  return parsed
}

wanted('lets phones out here when their pool is routed here and there is a way out', () => {
  const { mode, reason, table, isForwarding, viaPeer } = wantedOf(AROUND)
  assert.equal([mode, reason, isForwarding, viaPeer], ['local', undefined, true, []])
  assert.equal(table, { pools4: [POOL], pools6: [], isLocal: true, mesh: undefined })
})

wanted('touches nothing on a machine where the user plane is not', () => {
  for (const routes of [[UPLINK], [UPLINK, route(POOL, DEVICE)], []]) {
    const { mode, reason, table, isForwarding } = wantedOf({ ...AROUND, ...MESH, routes, overlay: undefined })
    assert.equal([mode, table, isForwarding], ['off', undefined, false])
    assert.match(reason ?? '', /no route to 10\.45\.0\.0\/16/)
  }
})

wanted('touches nothing when no core driver tells of pools', () => {
  const { mode, table, reason } = wantedOf({ ...AROUND, pools: [] })
  assert.equal([mode, table], ['off', undefined])
  assert.match(reason ?? '', /no core driver/)
})

wanted('touches nothing for a core that this box does not drive, unless a peer is asked for', () => {
  const watched = { ...AROUND, ...MESH, isDriven: false, device: undefined }
  const { mode, table, isForwarding, reason } = wantedOf(watched)
  assert.equal([mode, table, isForwarding], ['off', undefined, false])
  assert.match(reason ?? '', /southbound\.driver is none/)
  const approved = { ...AROUND, ...MESH, isDriven: false, hasWayOut: true }
  assert.equal([wantedOf(approved).mode, wantedOf(approved).table], ['off', undefined])
  assert.equal(wantedOf({ ...approved, isLocal: false }).viaPeer, [POOL])
})

wanted('takes a part of the pool that is routed here for the pool', () => {
  assert.is(wantedOf({ ...AROUND, routes: [UPLINK, route('10.45.0.0/24', 'ogstun')] }).mode, 'local')
})

wanted('is off without a way out, and says so', () => {
  const { mode, reason } = wantedOf({ ...AROUND, routes: [TUN] })
  assert.is(mode, 'off')
  assert.match(reason ?? '', /no default route/)
})

wanted('sends phones through a peer whose default route was approved', () => {
  const { mode, reason, viaPeer, table } = wantedOf({ ...AROUND, ...MESH, isLocal: false, hasWayOut: true })
  assert.equal([mode, reason, viaPeer], ['peer', undefined, [POOL]])
  assert.is(table?.isLocal, false)
  assert.equal(table?.mesh, { ...MESH, offered: [], direct: [] })
})

wanted('falls back to the peer when its own way out is gone, and says why', () => {
  const away = wantedOf({ ...AROUND, ...MESH, routes: [TUN, route('0.0.0.0/0', DEVICE)], hasWayOut: true })
  assert.is(away.mode, 'peer')
  assert.match(away.reason ?? '', /no default route of its own/)
  assert.is(wantedOf({ ...AROUND, ...MESH, hasWayOut: true }).mode, 'local')
})

wanted('turns nothing on for local breakout that policy forbids', () => {
  const { mode, table, isForwarding, reason } = wantedOf({ ...AROUND, isLocal: false })
  assert.equal([mode, table, isForwarding], ['off', undefined, false])
  assert.match(reason ?? '', /policy\.local_breakout is false/)
})

wanted('carries for others what it offers, without a pool of its own', () => {
  const { mode, table, isForwarding } = wantedOf({
    ...AROUND,
    ...MESH,
    pools: [],
    offered: ['192.168.7.0/24', '192.168.0.0/16', '192.168.0.0/16', 'fd00::/8'],
  })
  assert.equal([mode, isForwarding], ['off', true])
  assert.equal(table?.mesh?.offered, ['192.168.0.0/16'])
})

wanted('keeps members out of a box that passes packets on for another reason', () => {
  const idle = { ...AROUND, ...MESH, pools: [] }
  assert.is(wantedOf(idle).table, undefined)
  const { table, isForwarding } = wantedOf({ ...idle, isForwarding: true })
  assert.equal([table?.mesh?.offered, isForwarding], [[], false])
})

const anyNetwork = fc
  .tuple(fc.integer({ min: 1, max: 32 }), fc.integer({ min: 0, max: 0xffff_ffff }))
  .map(([prefix, bits]) => {
    const masked = (BigInt(bits) >> BigInt(32 - prefix)) << BigInt(32 - prefix)
    const octets = [24n, 16n, 8n, 0n].map((shift) => (masked >> shift) & 0xffn)
    return `${octets.join('.')}/${prefix}`
  })

wanted('gives sets without overlap that cover all that was asked for', () => {
  fc.assert(
    fc.property(fc.array(anyNetwork, { maxLength: 12 }), (offered) => {
      const kept = (wantedOf({ ...AROUND, ...MESH, offered }).table?.mesh?.offered ?? []).map(net)
      assert.ok(offered.every((one) => kept.some((outer) => contains(outer, net(one)))))
      assert.ok(kept.every((one, at) => !kept.some((other, index) => index !== at && contains(other, one))))
    }),
  )
})

wanted.run()
