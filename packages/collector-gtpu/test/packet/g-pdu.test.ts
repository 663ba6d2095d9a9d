import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { findIpOf, packetCount } from '../../src/child/count-packets.ts'
import { createTally } from '../../src/counters/tally.ts'
import { coreEnds, ipv4From, prefixFrom } from '../../src/packet/address.ts'
import { emptyFrame, readIp, VERDICT } from '../../src/packet/g-pdu.ts'
import { type Carried, CORE, CORE_6, frame, merged, outer, RADIO } from '../support/frames.ts'

const gtpu = suite('collector-gtpu/packet')
const ENDS = coreEnds([CORE, CORE_6])
const ETHERNET = 1
const RAW = 101

function read(octets: Uint8Array, link = ETHERNET, end = octets.length) {
  const found = emptyFrame()
  const ip = findIpOf(link)?.(octets, 0, end) ?? -1
  const verdict = ip < 0 ? VERDICT.ignored : readIp(octets, ip, end, ENDS, found)
  const address = found.isIpv6 ? prefixFrom(found.high, found.low) : ipv4From(found.high)
  return { verdict, address, isUp: found.isUp, octets: found.octets }
}

const V4: Carried = { isUp: true, phone: '10.45.0.2', octets: 100 }
const V6: Carried = { isUp: false, phone: '2001:db8:45:1::99', octets: 1_280 }

const carried: fc.Arbitrary<Carried> = fc.record({
  isUp: fc.boolean(),
  phone: fc.oneof(
    fc.tuple(fc.nat(255), fc.nat(255)).map(([c, d]) => `10.45.${c}.${d}`),
    fc
      .tuple(fc.integer({ min: 1, max: 0xffff }), fc.integer({ min: 1, max: 0xffff }))
      .map(([prefix, own]) => `2001:db8:45:${prefix.toString(16)}:0:0:0:${own.toString(16)}`),
  ),
  octets: fc.integer({ min: 60, max: 9_000 }),
  header: fc.constantFrom(8, 12, 16, 20, 24, 28, 32, 40, 64, 120),
  vlans: fc.constantFrom([], [7], [7, 9], [1, 2, 3]),
  isOuterIpv6: fc.boolean(),
})

gtpu('counts the octets of the inner packet for the end that is no core', () => {
  const common = { verdict: VERDICT.counted }
  assert.equal(read(frame(V4)), { ...common, address: '10.45.0.2', isUp: true, octets: 100 })
  assert.equal(read(frame({ ...V4, isUp: false })), {
    ...common,
    address: '10.45.0.2',
    isUp: false,
    octets: 100,
  })
  assert.equal(read(frame(V6)), { ...common, address: '2001:db8:45:1::/64', isUp: false, octets: 1_280 })
})

gtpu('reads every packet that is carried in any form, also cut off behind the inner header', () => {
  fc.assert(
    fc.property(carried, fc.boolean(), (one, isWhole) => {
      const octets = frame(one)
      const inner = one.phone.includes(':') ? 40 : 20
      const cut = octets.length - (one.octets - inner)
      const found = read(octets, ETHERNET, isWhole ? octets.length : cut)
      const address = one.phone.includes(':')
        ? `${one.phone.split(':').slice(0, 4).join(':')}::/64`
        : one.phone
      assert.equal(found, { verdict: VERDICT.counted, address, isUp: one.isUp, octets: one.octets })
    }),
    { numRuns: 1_000 },
  )
})

gtpu('counts a fragmented outer packet once and whole, by its first fragment', () => {
  const packet = outer(V4)
  packet.writeUInt16BE(0x2000, 6)
  assert.equal(read(packet, RAW, 64).verdict, VERDICT.counted)
  assert.is(read(packet, RAW, 64).octets, 100)
  packet.writeUInt16BE(0x0010, 6)
  assert.is(read(packet, RAW).verdict, VERDICT.ignored)
})

gtpu('takes no echo, no error and no end marker for a packet of a phone', () => {
  for (const message of [1, 2, 26, 254]) assert.is(read(frame({ ...V4, message })).verdict, VERDICT.ignored)
})

gtpu('tells forwarding among radios and legs inside the core from what counts', () => {
  assert.is(read(frame({ ...V4, core: '10.60.1.2' })).verdict, VERDICT.foreign)
  assert.is(read(frame({ ...V4, radio: CORE })).verdict, VERDICT.inside)
  assert.is(read(frame({ ...V4, radio: RADIO })).verdict, VERDICT.counted)
})

gtpu('finds what is malformed', () => {
  const gtp = 14 + 20 + 8
  const broken = (change: (octets: Buffer) => void): number => {
    const octets = frame({ ...V4, header: 16 })
    change(octets)
    return read(octets).verdict
  }
  assert.is(
    broken((octets) => octets.writeUInt8(0x54, gtp)),
    VERDICT.malformed,
    'another version',
  )
  assert.is(
    broken((octets) => octets.writeUInt16BE(60_000, gtp + 2)),
    VERDICT.malformed,
    'longer than its datagram',
  )
  assert.is(
    broken((octets) => octets.writeUInt8(0, gtp + 12)),
    VERDICT.malformed,
    'an extension without a length',
  )
  assert.is(
    broken((octets) => octets.writeUInt8(200, gtp + 12)),
    VERDICT.malformed,
    'an extension beyond the end',
  )
  assert.is(
    broken((octets) => octets.writeUInt8(0x75, gtp + 16)),
    VERDICT.malformed,
    'neither IPv4 nor IPv6 inside',
  )
  assert.is(
    broken((octets) => octets.writeUInt16BE(101, gtp + 18)),
    VERDICT.malformed,
    'an inner packet longer than its room',
  )
})

gtpu('never throws and never counts more than a packet can carry, whatever the octets are', () => {
  fc.assert(
    fc.property(
      carried,
      fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 8 }),
      fc.nat(300),
      fc.constantFrom(0, 1, 101, 113, 276, 108),
      (one, changes, end, link) => {
        const octets = frame(one)
        for (const [at, value] of changes) if (at < octets.length) octets[at] = value
        const found = read(octets, link, Math.min(end, octets.length))
        assert.ok(Object.values(VERDICT).includes(found.verdict))
        if (found.verdict === VERDICT.counted) assert.ok(found.octets >= 20 && found.octets <= 65_535)
      },
    ),
    { numRuns: 3_000 },
  )
})

gtpu('writes prefixes as RFC 5952 does', () => {
  assert.is(prefixFrom(0x20010db8, 0), '2001:db8::/64')
  assert.is(prefixFrom(0x20010db8, 0x0000_0001), '2001:db8:0:1::/64')
  assert.is(prefixFrom(0, 0), '::/64')
})

gtpu('refuses an address of the core that is none', () => {
  assert.throws(() => coreEnds(['upf.example']), /upf\.example is no IP address/)
  assert.ok(coreEnds(['2001:DB8::7']).v6.has('20010db8000000000000000000000007'))
  assert.ok(coreEnds(['::ffff:10.0.0.1']).v6.has('00000000000000000000ffff0a000001'))
})

gtpu('tells several packets that were put together from one with padding behind it', () => {
  const other = { ...V4, phone: '10.45.0.3' }
  assert.is(read(merged([V4, other]), RAW).verdict, VERDICT.merged)
  assert.is(read(merged([{ ...V4, octets: 60, header: 16 }, other, V4]), RAW, 64).verdict, VERDICT.merged)
  const padded = Buffer.concat([outer(V4), Buffer.alloc(27)])
  padded.writeUInt16BE(padded.length - 20, 24)
  assert.equal(read(padded, RAW), { verdict: VERDICT.counted, address: '10.45.0.2', isUp: true, octets: 100 })
})

gtpu('says of what was put together that it was not counted', () => {
  const tally = createTally()
  const count = packetCount(ENDS, tally)
  const packet = merged([V4, { ...V4, phone: '10.45.0.3' }])
  count.packet(RAW, 0, packet, 0, packet.length)
  assert.equal([count.seen.received, count.seen.unmatched, tally.size], [1, 1, 0])
})

gtpu.run()
