import { assert, fakeClock, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { type Candidate, planPeers, servingOf, type WantedPeer } from '../src/peers/apply.ts'
import { parseCidr } from '../src/peers/cidr.ts'
import { memberChanges } from '../src/peers/follow-members.ts'
import { handshakeStates, linkState } from '../src/peers/handshake-state.ts'
import type { PeerRow } from '../src/peers/peer-store.ts'
import { routeProblems } from '../src/peers/reserved-networks.ts'
import type { SeenPeer } from '../src/wireguard/dump.ts'
import { unheardPeer } from './support/fake-link.ts'
import { member, someKey } from './support/peers-world.ts'

const plan = suite('mesh/plan')
const KEYS = ['a', 'b', 'c', 'd', 'e']
const NETWORKS = ['10.1.0.0/16', '10.2.0.0/16', '10.3.0.0/16']
const DIGESTS = ['x', 'y']

const PSK: fc.Arbitrary<WantedPeer['psk']> = fc.oneof(
  fc.constant({ kind: 'none' as const }),
  fc.constant({ kind: 'latch' as const }),
  fc.constantFrom(...DIGESTS).map((sha256) => ({ kind: 'digest' as const, sha256 })),
)
/** Peers as this service wants them: no network twice. */
const WANTED = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 4 }),
    fc.array(fc.nat({ max: 3 }), { minLength: 3, maxLength: 3 }),
    fc.array(PSK, { minLength: 4, maxLength: 4 }),
  )
  .map(([keys, owners, psks]) =>
    keys.map(
      (publicKey, index): WantedPeer => ({
        publicKey,
        psk: psks[index] ?? { kind: 'none' },
        endpoint: '192.0.2.1:1',
        isActive: false,
        keepaliveS: 25,
        allowedIps: NETWORKS.filter((_, at) => owners[at] === index),
      }),
    ),
  )
const SEEN: fc.Arbitrary<readonly SeenPeer[]> = fc
  .uniqueArray(fc.constantFrom(...KEYS), { maxLength: 5 })
  .chain((keys) =>
    fc
      .array(fc.option(fc.constantFrom(...DIGESTS), { nil: undefined }), { minLength: 5, maxLength: 5 })
      .map((psks) =>
        keys.map((publicKey, index) => ({
          publicKey,
          pskSha256: psks[index],
          endpoint: undefined,
          allowedIps: NETWORKS.slice(index, index + 1),
          handshakeAtS: undefined,
          rxBytes: 7,
          txBytes: 0,
          keepaliveS: undefined,
        })),
      ),
  )

/** As WireGuard does it. */
function applied(
  seen: readonly SeenPeer[],
  wanted: readonly WantedPeer[],
  isOurs: (key: string) => boolean,
): readonly SeenPeer[] {
  const { changes, removed } = planPeers(wanted, { publicKey: 'me', listenPort: 1, peers: seen }, isOurs)
  let peers = seen
  for (const change of changes) {
    const present = peers.find(({ publicKey }) => publicKey === change.publicKey)
    const before = change.isAnew === true ? undefined : present
    const digest = change.psk === 'keep' || change.psk.kind !== 'digest' ? undefined : change.psk.sha256
    const psk = change.psk === 'keep' ? before?.pskSha256 : change.psk.kind === 'latch' ? 'random' : digest
    peers = [
      ...peers
        .filter(({ publicKey }) => publicKey !== change.publicKey)
        .map((one) => ({
          ...one,
          allowedIps: one.allowedIps.filter((cidr) => !change.allowedIps.includes(cidr)),
        })),
      {
        publicKey: change.publicKey,
        pskSha256: psk,
        endpoint: change.endpoint ?? before?.endpoint,
        allowedIps: change.allowedIps,
        handshakeAtS: undefined,
        rxBytes: before?.rxBytes ?? 0,
        txBytes: 0,
        keepaliveS: change.keepaliveS,
      },
    ]
  }
  return peers.filter(({ publicKey }) => !removed.includes(publicKey))
}

plan('comes to what is wanted in one go, and then has nothing more to do', () => {
  fc.assert(
    fc.property(WANTED, SEEN, (wanted, seen) => {
      const all = (): boolean => true
      const after = applied(seen, wanted, all)
      assert.equal(
        after.map(({ publicKey }) => publicKey).sort(),
        wanted.map(({ publicKey }) => publicKey).sort(),
      )
      for (const { publicKey, allowedIps } of wanted)
        assert.equal(after.find((one) => one.publicKey === publicKey)?.allowedIps, allowedIps)
      const again = planPeers(wanted, { publicKey: 'me', listenPort: 1, peers: after }, all)
      assert.equal([again.changes, again.removed], [[], []])
    }),
  )
})

plan("never touches somebody else's peer or its networks", () => {
  fc.assert(
    fc.property(WANTED, SEEN, (wanted, seen) => {
      const keys = wanted.map(({ publicKey }) => publicKey)
      const after = applied(seen, wanted, () => false)
      for (const foreign of seen.filter(({ publicKey }) => !keys.includes(publicKey)))
        assert.equal(
          after.find(({ publicKey }) => publicKey === foreign.publicKey),
          foreign,
        )
    }),
  )
})

plan('routes a network to one active peer at a time, and only what is advertised and approved', () => {
  const candidate: fc.Arbitrary<Omit<Candidate, 'id'>> = fc.record({
    isActive: fc.boolean(),
    advertised: fc.subarray(NETWORKS),
    approved: fc.subarray(NETWORKS),
    isStatic: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.array(candidate, { maxLength: 5 }),
      fc.boolean(),
      fc.nat({ max: 5 }),
      (list, isAllowed, holder) => {
        const peers = list.map((one, index) => ({ ...one, id: `p-${index}` }))
        const serving = servingOf(peers, {
          isAllowed,
          isContested: () => false,
          holderOf: () => `p-${holder}`,
        })
        const all = [...serving.values()].flat()
        assert.is(new Set(all).size, all.length)
        for (const { id, isActive, advertised, approved, isStatic } of peers)
          for (const cidr of serving.get(id) ?? []) {
            assert.ok(isActive && advertised.includes(cidr) && approved.includes(cidr))
            assert.ok(isAllowed || isStatic)
          }
        const held = peers.find(({ id, isActive }) => id === `p-${holder}` && isActive && isAllowed)
        for (const cidr of held?.approved ?? [])
          if (held?.advertised.includes(cidr)) assert.ok(serving.get(held.id)?.includes(cidr))
      },
    ),
  )
})

plan('says of each route what stands against it', () => {
  const pool = parseCidr('10.45.0.0/16')
  if (pool === undefined) throw new Error('no network')
  const reserved = [{ cidr: pool, what: 'the addresses of phones', isFixed: false }]
  const routes = [
    '10.20.0.0/16',
    '10.0.0.0/8',
    '10.20.0.0/16',
    '0.0.0.0/0',
    '192.0.2.0/24',
    'x',
    '224.1.0.0/16',
    '2001:db8::/32',
    '::/0',
  ]
  const problems = routeProblems(routes, reserved, '192.0.2.1')
  assert.equal(
    problems.map(({ index, isAllowable }) => [index, isAllowable]),
    [
      [1, true],
      [2, false],
      [3, true],
      [4, false],
      [5, false],
      [6, false],
      [7, false],
      [8, false],
    ],
  )
  assert.match(problems.at(-1)?.message ?? '', /peers carry IPv4 alone/)
})

plan('counts the age of a handshake by the clock that never goes back', async () => {
  const clock = fakeClock(1_000_000_000)
  const seen = handshakeStates(clock)
  const peer = { ...unheardPeer('k'), handshakeAtS: 999_900 }
  assert.is(linkState(seen.of('k')), 'pending')
  seen.see([peer])
  assert.is(seen.of('k')?.handshakeAgeS, 100)
  clock.jump(clock.nowMs() + 86_400_000)
  await clock.advance(50_000)
  seen.see([peer])
  assert.is(seen.of('k')?.handshakeAgeS, 150)
  await clock.advance(30_000)
  assert.is(linkState(seen.of('k')), 'stale')
  seen.see([{ ...peer, handshakeAtS: 5 }])
  assert.is(seen.of('k')?.handshakeAgeS, 0)
  seen.see([])
  assert.is(seen.of('k'), undefined)
})

plan('doubts an age that is by the time of day until echoes have told, three at most', async () => {
  const clock = fakeClock(1_000_000_000)
  const seen = handshakeStates(clock)
  const peer = { ...unheardPeer('k'), handshakeAtS: 1_000 }
  seen.see([peer])
  assert.ok(seen.isDoubtful('k'))
  seen.asked('k', true)
  assert.is(seen.of('k')?.handshakeAgeS, 0)
  // From here on the age is by the clock that never goes back.
  await clock.advance(181_000)
  assert.is(linkState(seen.of('k')), 'stale')
  assert.not.ok(seen.isDoubtful('k'))
  const away = handshakeStates(clock)
  away.see([peer])
  for (let count = 0; count < 3; count += 1) {
    assert.ok(away.isDoubtful('k'))
    away.asked('k', false)
    away.see([peer])
  }
  assert.not.ok(away.isDoubtful('k'))
  assert.is(linkState(away.of('k')), 'stale')
})

plan(
  'follows members: they join, change keys, leave and come back; what an operator removed stays away',
  () => {
    const south = member('south', { advertised: ['10.7.0.0/16', 'junk'] })
    const [joined] = memberChanges([], [south], 1, () => true)
    assert.is(joined?.action, 'peer.join')
    const row = rowOf(joined)
    assert.equal([row.advertised, row.approved, row.address], ['["10.7.0.0/16"]', '[]', '100.64.0.2'])
    assert.equal(
      memberChanges([row], [south], 2, () => true),
      [],
    )
    const next = someKey()
    const [told] = memberChanges([row], [changed(south, { next_public_key: next })], 3, () => true)
    assert.is(rowOf(told).next_key, next)
    // Its packets came under the next key before the list said so.
    const over = { ...rowOf(told), public_key: next, next_key: null, former_key: row.public_key }
    assert.equal(
      memberChanges([over], [changed(south, { next_public_key: next })], 4, () => true),
      [],
    )
    assert.equal(
      memberChanges([over], [changed(south, { public_key: next })], 5, () => true),
      [],
    )
    const [left] = memberChanges([over], [], 6, () => true)
    assert.equal([left?.action, left?.row.removed_by], ['peer.leave', 'mesh'])
    const [back] = memberChanges([rowOf(left)], [changed(south, { public_key: next })], 7, () => true)
    assert.equal([back?.row.id, back?.row.removed_at_ms, back?.row.approved], [row.id, null, '[]'])
    const removed = { ...row, removed_at_ms: 8, removed_by: 'operator' as const }
    assert.equal(
      memberChanges([removed], [south], 9, () => true),
      [],
    )
  },
)

plan('keeps what was approved of boxes that it meets again under another root, by id and key', () => {
  const south = member('south', { advertised: ['10.7.0.0/16'] })
  const [joined] = memberChanges([], [south], 1, () => false)
  const row = { ...rowOf(joined), approved: '["10.7.0.0/16"]' }
  const back = (put: boolean, as = south) => {
    const [left] = memberChanges([row], [], 2, () => put)
    assert.is(rowOf(left).removed_by, 'mesh')
    return rowOf(memberChanges([rowOf(left)], [as], 3, () => false)[0]).approved
  }
  assert.is(back(false), row.approved)
  assert.is(back(true), '[]', 'it was put out of the mesh')
  assert.is(
    back(false, changed(south, { public_key: someKey() })),
    '[]',
    'the other root gave that id to another',
  )
  assert.is(back(false, { ...south, nodeId: 'another' }), '[]', 'and that key to another id')
})

function changed(one: ReturnType<typeof member>, wireguard: object): ReturnType<typeof member> {
  if (one.wireguard === undefined) throw new Error('it has published nothing')
  return { ...one, wireguard: { ...one.wireguard, ...wireguard } }
}

function rowOf(change: { readonly row: PeerRow } | undefined): PeerRow {
  if (change === undefined) throw new Error('nothing changes')
  return change.row
}

plan.run()
