import { isServiceError } from '@steeple/contracts'
import { assert, bodyOf, eventually, suite } from '@steeple/testkit'
import { meshMembers } from '../../src/enroll/enrollment.ts'
import { openMembershipState } from '../../src/enroll/membership-state.ts'
import { type MemberBed, memberBed } from '../support/member-bed.ts'
import { type RootBed, rootBed } from '../support/root-bed.ts'

const DAY_MS = 86_400_000
const LIMIT_MS = 60_000
/** A member that fails to reach its root pauses between its questions, up to 15 s, and asks three others each time. */
const AMID_PAUSES_MS = 300_000
/** A box is made, and asks some questions over HTTP. */
const LIMIT = { limitMs: 360_000 }
const agents = suite('mesh/agent')
let root: RootBed
const open: MemberBed[] = []
agents.before(async () => {
  root = await rootBed({ name: 'valley' })
})
agents.after.each(async () => {
  for (const one of open.splice(0)) await one.close()
})
agents.after(() => root.close())

async function member(name?: string): Promise<MemberBed> {
  const bed = await memberBed(root, name)
  open.push(bed)
  return bed
}

/** Cuts a member off, and waits until nothing of its root can reach it: the question that waited is over. */
async function cutOff(one: MemberBed, wakes: string): Promise<void> {
  one.isCut = true
  await member(wakes)
  await eventually(() => assert.is(one.agent.health().status, 'degraded'), LIMIT_MS)
}

function namesOf(bed: MemberBed): readonly string[] {
  return meshMembers(bed.parts, bed.agent)
    .list()
    .map(({ name }) => name)
}

agents(
  'hears of the members, and of new ones as they come',
  async () => {
    const one = await member('one')
    one.agent.start()
    await eventually(() => assert.ok(namesOf(one).includes('one')), LIMIT_MS)
    await member('two')
    await eventually(() => assert.ok(namesOf(one).includes('two')), LIMIT_MS)
    assert.is(one.agent.health().status, 'ok')
    const overlay = meshMembers(one.parts, one.agent).overlay()
    assert.is(overlay?.address, one.identity.membership()?.overlayAddress)
  },
  LIMIT,
)

agents(
  'tells the others of its WireGuard, when it can',
  async () => {
    const [one, two] = [await member('teller'), await member('listener')]
    const published = {
      public_key: Buffer.alloc(32, 9).toString('base64'),
      next_public_key: null,
      prepared: [],
      endpoint: null,
      listen_port: 51820,
      advertised: ['10.9.0.0/16'],
      takes: ['22222222-2222-4333-8444-555555555555 10.8.0.0/16'],
    }
    one.isCut = true
    one.agent.start()
    two.agent.start()
    await meshMembers(one.parts, one.agent).publish(published)
    one.isCut = false
    await eventually(() => {
      const seen = meshMembers(two.parts, two.agent)
        .list()
        .find(({ nodeId }) => nodeId === one.id)
      assert.equal(seen?.wireguard, { ...published, endpoint: '127.0.0.1:51820' })
    }, LIMIT_MS)
  },
  LIMIT,
)

agents(
  'sends heartbeats whose number grows over restarts and clocks that go back',
  async () => {
    const one = await member('beating')
    one.agent.start()
    const seen = async (): Promise<number> => {
      const body = bodyOf<{
        readonly nodes: readonly { readonly node_id: string; readonly last_seen: string }[]
      }>(await root.bed.request('GET', '/v1/nodes?limit=500'))
      return Date.parse(body.nodes.find(({ node_id }) => node_id === one.id)?.last_seen ?? '')
    }
    const before = await seen()
    await root.clock.advance(16_000)
    await eventually(async () => assert.ok((await seen()) > before), LIMIT_MS)
    assert.ok(one.asked.includes('POST /v1/telemetry'))
  },
  LIMIT,
)

agents(
  'goes on with what it knows while the root is away, and says so',
  async () => {
    const one = await member('cut off')
    one.agent.start()
    await eventually(() => assert.ok(namesOf(one).includes('cut off')), LIMIT_MS)
    await cutOff(one, 'another')
    assert.ok(namesOf(one).includes('cut off'))
    const again = await openMembershipState(one.db, one.identity)
    assert.equal(
      again.view()?.members.length,
      one.parts.membershipState.view()?.members.length,
      'over a restart, too',
    )
  },
  LIMIT,
)

agents(
  'stops being a member when the root has put it out, and says so',
  async () => {
    const one = await member('stolen')
    one.agent.start()
    await eventually(() => assert.ok(namesOf(one).includes('stolen')), LIMIT_MS)
    await root.remove(one.id)
    await eventually(() => assert.is(one.identity.membership(), undefined), LIMIT_MS)
    await eventually(() => assert.match(one.agent.health().detail, /taken out of the mesh valley/), LIMIT_MS)
    await eventually(() => assert.is(one.fake.mutations.at(-1)?.action, 'node.expelled'), LIMIT_MS)
    assert.not.ok(namesOf(one).includes('stolen') && namesOf(one).length > 1)
  },
  LIMIT,
)

agents(
  'hears of it from any other member when the root is away',
  async () => {
    const [one, gossip] = [await member('partitioned'), await member('gossip')]
    one.agent.start()
    await eventually(() => assert.ok(namesOf(one).includes('gossip')), LIMIT_MS)
    await cutOff(one, 'wakes the partitioned')
    await root.remove(one.id)
    const list = bodyOf<{ readonly crl_pem: string }>(
      await root.bed.request('GET', '/v1/mesh/crl', { token: false }),
    )
    const address = gossip.identity.membership()?.overlayAddress ?? ''
    // What docs/how-to/mesh.md has each box listen on, without `peering.url`.
    one.fake.changeSettings({ tls: { enabled: true }, server: { listen: '0.0.0.0:8443' } })
    one.neighbours.set(`https://${address}:8443`, () => ({ status: 200, body: list }))
    await eventually(async () => {
      await root.clock.advance(61_000)
      assert.is(one.identity.membership(), undefined)
    }, AMID_PAUSES_MS)
  },
  LIMIT,
)

agents(
  'counts nobody as a member whose certificates it hears to be revoked, before the root says that it is out',
  async () => {
    const [one, other] = [await member('hears'), await member('thrown out')]
    one.agent.start()
    await eventually(() => assert.ok(namesOf(one).includes('thrown out')), LIMIT_MS)
    await cutOff(one, 'wakes who hears')
    await root.remove(other.id)
    const list = bodyOf<{ readonly crl_pem: string }>(
      await root.bed.request('GET', '/v1/mesh/crl', { token: false }),
    )
    let changes = 0
    const members = meshMembers(one.parts, one.agent)
    const stop = members.onChange(() => {
      changes += 1
    })
    assert.is(await one.parts.membershipState.takeList(list.crl_pem), true)
    stop()
    assert.not.ok(namesOf(one).includes('thrown out'))
    assert.ok(namesOf(one).includes('hears'))
    assert.equal([members.hasPutOut(other.id), members.hasPutOut(one.id), changes], [true, false, 1])
  },
  LIMIT,
)

agents(
  'believes no list that the CA has not signed, and none that is older',
  async () => {
    const one = await member('sceptic')
    const { membershipState, authority } = one.parts
    const newest = bodyOf<{ readonly number: number; readonly crl_pem: string }>(
      await root.bed.request('GET', '/v1/mesh/crl', { token: false }),
    )
    assert.is(await membershipState.takeList(newest.crl_pem), true)
    assert.is(await membershipState.takeList(newest.crl_pem), false)
    const forged = await authority.signRevocations([], {
      number: newest.number + 1_000,
      thisUpdateMs: 0,
      nextUpdateMs: 1,
    })
    const code = await membershipState
      .takeList(forged)
      .catch((error: unknown) => isServiceError(error) && error.code)
    assert.is(code, 'validation_failed')
    await root.remove((await member('leaver')).id)
    const next = bodyOf<{ readonly crl_pem: string }>(
      await root.bed.request('GET', '/v1/mesh/crl', { token: false }),
    )
    assert.is(await membershipState.takeList(next.crl_pem), true)
    assert.is(await membershipState.takeList(newest.crl_pem), false, 'an older one takes nothing back')
    assert.is(membershipState.list()?.pem, next.crl_pem)
  },
  LIMIT,
)

agents(
  'keeps no list of a mesh that it leaves while the list is read',
  async () => {
    const { membershipState } = (await member('leaves amid a list')).parts
    const { crl_pem: pem } = bodyOf<{ readonly crl_pem: string }>(
      await root.bed.request('GET', '/v1/mesh/crl', { token: false }),
    )
    const taken = membershipState.takeList(pem)
    await membershipState.clear()
    assert.is(await taken, false)
    assert.is(membershipState.list(), undefined, 'its number would hide the lists of the next mesh')
  },
  LIMIT,
)

agents(
  'renews its certificate by itself, also when it has expired',
  async () => {
    const one = await member('renewing')
    one.agent.start()
    await eventually(() => assert.ok(namesOf(one).includes('renewing')), LIMIT_MS)
    const pem = () => one.identity.membership()?.certificatePem
    for (const days of [16, 45]) {
      const before = pem()
      await cutOff(one, `wakes ${days}`)
      await root.later(days * DAY_MS)
      one.isCut = false
      await eventually(() => assert.is.not(pem(), before), LIMIT_MS)
    }
    assert.ok(one.asked.includes('POST /v1/mesh/renew'))
    assert.ok(one.asked.includes(`POST /v1/nodes/${one.id}/enroll`))
  },
  LIMIT,
)

agents(
  'leaves, and is the root of its own mesh again',
  async () => {
    const one = await member('leaving')
    one.agent.start()
    const { isRootTold } = await one.agent.leave(new AbortController().signal)
    assert.is(isRootTold, true)
    assert.is(one.identity.membership(), undefined)
    assert.equal(namesOf(one), ['leaving'], 'a mesh of one')
    assert.is(one.agent.health().status, 'ok')
    const two = await member('leaving alone')
    two.isCut = true
    assert.is((await two.agent.leave(new AbortController().signal)).isRootTold, false)
    assert.is(two.identity.membership(), undefined)
  },
  LIMIT,
)

agents.run()
