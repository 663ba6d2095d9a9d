import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { packetCount } from '../../src/child/count-packets.ts'
import { countersFrom, createTally } from '../../src/counters/tally.ts'
import { coreEnds } from '../../src/packet/address.ts'
import { HOLD_MS } from '../../src/packet/tunnels.ts'
import { type Carried, CORE, CORE_6, outer, truthOf } from '../support/frames.ts'

const tunnels = suite('collector-gtpu/tunnels')
const RAW = 101
const OTHER_CORE = '10.60.0.8'
const ENDS = coreEnds([CORE, OTHER_CORE, CORE_6])

interface Sent extends Carried {
  readonly atMs: number
}

/** What is counted of packets, and what is refused. */
function counted(packets: readonly Sent[]) {
  const tally = createTally()
  const count = packetCount(ENDS, tally)
  for (const one of packets) {
    const octets = outer(one)
    count.packet(RAW, one.atMs, octets, 0, octets.length)
  }
  const octets = [...countersFrom(tally.bytes())].map(({ address, upBytes, downBytes }) => [
    address,
    [upBytes, downBytes],
  ])
  return { octets: Object.fromEntries(octets), refused: { ...count.refused }, seen: { ...count.seen } }
}

const A = '10.45.0.2'
const VICTIM = '10.45.0.3'
const PREFIX = '2001:db8:45:1::1'
const VICTIM_PREFIX = '2001:db8:45:2::1'
const up = (phone: string, tunnel: number, atMs = 0): Sent => ({
  isUp: true,
  phone,
  tunnel,
  octets: 100,
  atMs,
})
const down = (phone: string, atMs = 0): Sent => ({ isUp: false, phone, octets: 100, atMs })

tunnels('refuses the address of one phone in the tunnel of another, and says how much', () => {
  const found = counted([up(VICTIM, 2), up(A, 1), down(A), up(VICTIM, 1), up(VICTIM, 1), up(VICTIM, 2)])
  assert.equal(found.octets, { [VICTIM]: [200, 0], [A]: [100, 100] })
  assert.equal(found.refused, { packets: 2, octets: 200 })
  assert.equal([found.seen.received, found.seen.unmatched], [6, 0])
})

tunnels('refuses the prefix of another phone, and leaves addresses of the link alone', () => {
  const link: Sent = { ...up('fe80::1', 1), octets: 60 }
  const sent = [
    up(VICTIM_PREFIX, 2),
    link,
    up(PREFIX, 1),
    down(PREFIX),
    link,
    up(VICTIM_PREFIX, 1),
    { ...link, tunnel: 2 },
  ]
  const { octets, refused } = counted(sent)
  const known = { '2001:db8:45:1::/64': [100, 100], '2001:db8:45:2::/64': [100, 0], 'fe80::/64': [180, 0] }
  assert.equal([octets, refused], [known, { packets: 1, octets: 100 }])
})

tunnels('takes two bearers, both families and a network behind a phone for its own', () => {
  const sent = [A, PREFIX, '192.168.7.1', '192.168.7.2'].flatMap((phone) =>
    [1, 2].map((one) => up(phone, one)),
  )
  // The second bearer has begun with the phone's own address.
  const own = sent.filter(({ phone, tunnel }) => tunnel === 1 || phone === A || phone === PREFIX)
  const all = [down(A), down(PREFIX), ...own, down(A), down(PREFIX), ...own]
  assert.equal([counted(all).octets, counted(all).refused.packets], [Object.fromEntries(truthOf(all)), 0])
})

tunnels('tells tunnels of one number at two ends of the core apart', () => {
  const sent = [up(A, 1), down(A), { ...up(VICTIM, 1), core: OTHER_CORE }, down(VICTIM)]
  const all = [...sent, ...sent]
  assert.equal([counted(all).octets, counted(all).refused.packets], [Object.fromEntries(truthOf(all)), 0])
})

tunnels('counts after all what was kept back of a tunnel whose number was given again', () => {
  const before = [up(VICTIM, 2), up(A, 1), down(A)]
  const again = [up(VICTIM, 1, 5_000), up(VICTIM, 1, HOLD_MS)]
  assert.is(counted([...before, ...again]).refused.packets, 2)
  const all = [...before, ...again, up(VICTIM, 1, HOLD_MS + 1)]
  assert.equal(
    [counted(all).octets, counted(all).refused],
    [Object.fromEntries(truthOf(all)), { packets: 0, octets: 0 }],
  )
})

tunnels('keeps nothing back for longer when the clock of the machine is set back', () => {
  const then = 2 * 3_600_000
  const before = [up(VICTIM, 2, then), up(A, 1, then), down(A, then)]
  const again = [up(VICTIM, 1, 1_000), up(VICTIM, 1, 1_000 + HOLD_MS)]
  assert.is(counted([...before, ...again]).refused.packets, 2)
  const all = [...before, ...again, up(VICTIM, 1, 1_001 + HOLD_MS)]
  assert.equal(
    [counted(all).octets, counted(all).refused],
    [Object.fromEntries(truthOf(all)), { packets: 0, octets: 0 }],
  )
})

tunnels('refuses again when the phone that was silent sends from its own address', () => {
  const quiet = [up(VICTIM, 2), up(A, 1), down(A), up(VICTIM, 1, HOLD_MS + 1), up(A, 1, HOLD_MS + 2)]
  const { octets, refused } = counted([...quiet, up(VICTIM, 1, HOLD_MS + 3)])
  assert.equal(octets, Object.fromEntries(truthOf(quiet)))
  assert.equal(refused, { packets: 1, octets: 100 })
})

tunnels('leaves a phone alone that begins with an address which it had before', () => {
  const left = [
    up(VICTIM, 2),
    up('10.45.0.9', 1),
    up(VICTIM, 1),
    down(VICTIM),
    up('10.45.0.9', 1),
    up(VICTIM, 1),
  ]
  assert.equal([counted(left).octets, counted(left).refused.packets], [Object.fromEntries(truthOf(left)), 0])
})

/** Phones with sessions one after the other, of which some forge addresses of others once they have got something. */
const life = fc.array(
  fc.record({
    phone: fc.nat(7),
    what: fc.constantFrom('up', 'up', 'down', 'other bearer', 'forge', 'attach'),
    victim: fc.nat(7),
    octets: fc.integer({ min: 60, max: 1_400 }),
    afterMs: fc.integer({ min: 0, max: 2 * HOLD_MS }),
  }),
  { maxLength: 120 },
)

type Step = typeof life extends fc.Arbitrary<readonly (infer One)[]> ? One : never

/** What a step puts on the wire, at once; the forged one is between two of the phone's own, since who forges is not silent. */
function packetsOf(what: Step['what'], phone: string, tunnel: number, victim: string): readonly Sent[] {
  const own = up(phone, tunnel)
  if (what === 'forge') return [own, up(victim, tunnel), own]
  if (what === 'attach') return [own, down(phone)]
  if (what === 'other bearer') return [up(phone, tunnel + 1)]
  return [what === 'up' ? own : down(phone)]
}

/** What phones send and get by these steps. */
function sentBy(steps: readonly Step[], isIpv6: boolean): readonly Sent[] {
  const addressOf = (i: number): string => (isIpv6 ? `2001:db8:45:${i + 1}::1` : `10.45.0.${i + 1}`)
  const tunnels = Array.from({ length: 8 }, (_, i) => 2 * i + 2)
  // Each has sent and got something: what a phone does before that tells nothing.
  const sent = tunnels.flatMap((tunnel, i) => packetsOf('attach', addressOf(i), tunnel, ''))
  let last = 2 * tunnels.length
  let now = 0
  for (const { phone, what, victim, octets, afterMs } of steps) {
    if (what !== 'forge') now += afterMs
    if (what === 'attach') {
      last += 2
      tunnels[phone] = last
    }
    const packets = packetsOf(what, addressOf(phone), tunnels[phone] ?? 0, addressOf(victim))
    sent.push(...packets.map((one) => ({ ...one, octets, atMs: now })))
  }
  return sent
}

/** Whether a packet up carries another address than its tunnel has begun with. */
function forgedOf(sent: readonly Sent[]): ReadonlySet<Sent> {
  const own = new Map<number | undefined, string>()
  return new Set(
    sent.filter(({ isUp, tunnel, phone }) => {
      if (isUp && !own.has(tunnel)) own.set(tunnel, phone)
      return isUp && own.get(tunnel) !== phone
    }),
  )
}

tunnels('counts every honest octet and no forged one, whatever phones do', () => {
  fc.assert(
    fc.property(life, fc.boolean(), (steps, isIpv6) => {
      const sent = sentBy(steps, isIpv6)
      const forged = forgedOf(sent)
      const found = counted(sent)
      assert.equal(found.octets, Object.fromEntries(truthOf(sent.filter((one) => !forged.has(one)))))
      assert.equal([found.refused.packets, found.seen.unmatched], [forged.size, 0])
    }),
    { numRuns: 500 },
  )
})

tunnels.run()
