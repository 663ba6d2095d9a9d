import { assert, eventually, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { machineClock } from '../../src/clock.ts'
import { runDbctl } from '../../src/dbctl/commands.ts'
import type { Direction } from '../../src/gtpu/frame.ts'
import { makeTraffic, type Octets } from '../../src/gtpu/traffic.ts'
import type { LabCore, LabOptions } from '../../src/lab-core.ts'
import type { NamedPhone } from '../../src/phones/fleet.ts'
import type { Session } from '../../src/smf/sessions.ts'
import { FAST, QUICK, RECORDED, startLab } from '../support/lab.ts'

const traffic = suite('lab-core/gtpu')
const { imsi, ki, opc } = RECORDED

/** What a frame says, read by the standards and not by the code that wrote it. */
interface Read {
  readonly teid: number
  /** PDU type and QFI of a PDU Session Container. */
  readonly container: readonly number[] | undefined
  readonly version: number
  readonly from: string
  readonly to: string
  readonly length: number
}

/** TS 29.281 §5.1; RFC 791, RFC 8200, RFC 768. Fails where a length or a checksum is wrong. */
function readFrame(frame: Buffer): Read {
  assert.is((frame[0] ?? 0) >> 4, 3, 'version 1, GTP')
  assert.is(frame[1], 0xff, 'G-PDU')
  assert.is(frame.readUInt16BE(2), frame.length - 8)
  let at = 8
  let container: readonly number[] | undefined
  if (((frame[0] ?? 0) & 7) !== 0) {
    assert.is((frame[0] ?? 0) & 7, 4, 'an extension header, neither S nor PN')
    assert.equal([...frame.subarray(8, 13)], [0, 0, 0, 0x85, 1])
    container = [(frame[13] ?? 0) >> 4, frame[14] ?? 0]
    assert.is(frame[15], 0, 'no further extension header')
    at = 16
  }
  const packet = frame.subarray(at)
  const version = (packet[0] ?? 0) >> 4
  const header = version === 4 ? 20 : 40
  const length = version === 4 ? packet.readUInt16BE(2) : 40 + packet.readUInt16BE(4)
  assert.is(length, packet.length)
  assert.is(packet[version === 4 ? 9 : 6], 17, 'UDP')
  if (version === 4) assert.is(sumOf(packet.subarray(0, header)), 0xffff, 'checksum of the IPv4 header')
  const udp = packet.subarray(header)
  assert.is(udp.readUInt16BE(4), udp.length)
  assert.ok(udp.readUInt16BE(6) > 0, 'a checksum of the datagram')
  const addresses = packet.subarray(version === 4 ? 12 : 8, header)
  assert.is(sumOf(Buffer.concat([addresses, Buffer.from([0, 17]), udp.subarray(4, 6), even(udp)])), 0xffff)
  const half = addresses.length / 2
  const [from = '', to = ''] = [addresses.subarray(0, half), addresses.subarray(half)].map(shown)
  return { teid: frame.readUInt32BE(4), container, version, from, to, length }
}

function sumOf(octets: Buffer): number {
  let sum = 0
  for (let at = 0; at < octets.length; at += 2) sum += octets.readUInt16BE(at)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16)
  return sum
}

function even(octets: Buffer): Buffer {
  return octets.length % 2 === 0 ? octets : Buffer.concat([octets, Buffer.from([0])])
}

function shown(address: Buffer): string {
  return address.length === 4 ? [...address].join('.') : address.toString('hex')
}

/** Traffic over a path that keeps what is sent. */
function kept(lease: Partial<Session['lease']>) {
  const frames: { readonly direction: Direction; readonly read: Read }[] = []
  const session: Session = {
    imsi,
    apn: 'internet',
    ebi: 5,
    qci: 9,
    teid: 77,
    lease: { number: 1, ipv4: undefined, ipv6: undefined, ...lease },
    upBytes: 0,
    downBytes: 0,
  }
  const counts = { sent: 0, arrived: 0, lost: 0 }
  const nowhere = { host: '127.0.0.1', port: 1 }
  const under = makeTraffic({
    path: {
      send: async (direction, frame) => {
        frames.push({ direction, read: readFrame(Buffer.from(frame)) })
        return true
      },
      counts,
      addresses: { radio: nowhere, core: nowhere },
      close: async () => undefined,
    },
    clock: machineClock(),
    bearerOf: () => session,
    stop: new AbortController().signal,
  })
  const mover = { imsi, phone: { serviceRequest: () => true, moved: () => undefined } }
  return { frames, session, under, mover }
}

const IPV6 = '20010db8cafe00010000000000000002'
const HOST6 = '20010db8ffff00000000000000000001'

traffic(
  'makes packets whose lengths and checksums are right, and which add up, over both interfaces',
  async () => {
    const amount: fc.Arbitrary<number> = fc.oneof(
      fc.integer({ min: 48, max: 6_000 }),
      fc.constantFrom(0, 1_399, 1_400, 1_401, 1_427, 14_028),
    )
    const leases = fc.constantFrom(
      { ipv4: '10.45.0.2' },
      { ipv6: '2001:db8:cafe:1::2' },
      { ipv4: '10.45.255.254', ipv6: '2001:db8:cafe:1::2' },
    )
    await fc.assert(
      fc.asyncProperty(amount, amount, leases, fc.constantFrom('s1u', 'n3'), async (up, down, lease, on) => {
        const { frames, session, under, mover } = kept(lease)
        assert.ok(await under.move(mover, { up, down }, { bitsPerSecond: undefined, on }))
        const sum = (way: Direction): number =>
          frames.filter(({ direction }) => direction === way).reduce((all, { read }) => all + read.length, 0)
        assert.equal([sum('up'), sum('down')], [up, down])
        assert.equal([session.upBytes, session.downBytes], [up, down])
        const { upBytes, downBytes, upPackets, downPackets } = under.moved(imsi)
        assert.equal([upBytes, downBytes, upPackets + downPackets], [up, down, frames.length])
        for (const { direction, read } of frames) {
          const [phone, host] = read.version === 4 ? [lease.ipv4, '198.51.100.1'] : [IPV6, HOST6]
          assert.equal([read.from, read.to], direction === 'up' ? [phone, host] : [host, phone])
          assert.is(read.teid, 77)
          assert.equal(read.container, on === 's1u' ? undefined : [direction === 'up' ? 1 : 0, 1])
          assert.ok(read.length <= 1_400)
        }
      }),
      { numRuns: 200 },
    )
  },
)

traffic('sends some of a phone that has both kinds of address by IPv6', async () => {
  const { frames, under, mover } = kept({ ipv4: '10.45.0.2', ipv6: '2001:db8:cafe:1::2' })
  await under.move(mover, { up: 100 * 1_400, down: 0 }, FAST)
  assert.is(frames.filter(({ read }) => read.version === 6).length, 10)
})

/** A lab core with so many phones on. */
async function withPhones(
  count: number,
  options: Partial<LabOptions> = {},
): Promise<{ lab: LabCore & AsyncDisposable; phones: readonly NamedPhone[] }> {
  const lab = await startLab(options)
  const cards = Array.from({ length: count }, (_, i) => ({
    ...RECORDED,
    imsi: `99970736400${String(i).padStart(4, '0')}`,
  }))
  const draw = (): string => '6b00336d94c05ec68f531651'
  for (const card of cards)
    await runDbctl(['add', card.imsi, ki, opc], { subscribers: lab.subscribers, draw })
  const phones = await lab.fleet.insert(cards)
  for (const { phone } of phones) phone.powerOn()
  await eventually(() => phones.every(({ phone }) => phone.isAttached))
  return { lab, phones }
}

traffic('moves what many phones are told at once, and loses nothing on the way', async () => {
  const { lab, phones } = await withPhones(30)
  await using _ = lab
  const asked = (i: number): Octets => ({ up: 1_000 * (i + 1), down: 40_000 + 37 * i })
  await Promise.all(phones.map((named, i) => lab.traffic.move(named, asked(i), FAST)))
  for (const [i, named] of phones.entries()) {
    const { upBytes, downBytes } = lab.traffic.moved(named.imsi)
    assert.equal([upBytes, downBytes], [asked(i).up, asked(i).down])
    const session = lab.fleet.session(named)
    assert.equal([session?.upBytes, session?.downBytes], [upBytes, downBytes])
  }
  await eventually(() => {
    const { sent, arrived, lost } = lab.path.counts
    assert.equal([arrived, lost], [sent, 0])
  })
})

traffic('sends nothing from the moment in which a session goes, and goes on when it is back', async () => {
  const { lab, phones } = await withPhones(1)
  await using _ = lab
  const [named] = phones
  if (named === undefined) throw new Error('no phone')
  lab.traffic.keep(named, { up: 800_000, down: 8_000_000 }, 's1u')
  const moved = (): number => lab.traffic.moved(named.imsi).downBytes
  await eventually(() => moved() > 0)
  const whole = lab.traffic.move(named, { up: 0, down: 1e12 }, FAST)
  const name = { imsi: named.imsi }
  await lab.subscribers.update(name.imsi, (doc) => ({ ...doc, request_cancel_location: true }))
  // Its session goes before it hears of it; what it was told to move ends with that.
  await whole
  // On a busy machine it may have attached more than once.
  await eventually(() => Number(lab.fleet.session(named)?.teid) > 1)
  const again = moved()
  await eventually(() => moved() > again)
  named.phone.powerOff()
  const { upBytes, downBytes } = lab.traffic.moved(named.imsi)
  const { sent } = lab.path.counts
  assert.is(lab.sessions.of(named.imsi), undefined)
  await eventually(() => lab.path.counts.arrived + lab.path.counts.lost === sent)
  assert.equal(lab.traffic.moved(named.imsi), { ...lab.traffic.moved(named.imsi), upBytes, downBytes })
  assert.is(lab.path.counts.sent, sent)
})

traffic('keeps to a rate, and to nothing when none is asked', async () => {
  const { lab, phones } = await withPhones(1)
  await using _ = lab
  const [named] = phones
  if (named === undefined) throw new Error('no phone')
  const from = performance.now()
  // 100,000 octets at 800 kbit/s: a second. A busy machine makes it later, never sooner.
  assert.ok(await lab.traffic.move(named, { up: 100_000, down: 0 }, { bitsPerSecond: 800_000, on: 'n3' }))
  assert.ok(performance.now() - from >= 800, `${performance.now() - from} ms`)
  assert.is(lab.traffic.moved(named.imsi).upBytes, 100_000)
  lab.traffic.keep(named, { up: 8e6, down: 0 }, 's1u')
  assert.equal(lab.traffic.kept(named.imsi), { up: 8e6, down: 0 })
  await eventually(() => lab.traffic.moved(named.imsi).upBytes > 100_000)
  lab.traffic.keep(named, { up: 0, down: 0 }, 's1u')
  const { sent } = lab.path.counts
  await eventually(() => lab.path.counts.arrived === lab.path.counts.sent)
  assert.ok(lab.path.counts.sent <= sent + 1, 'at most what was on its way to the wire')
})

traffic('keeps a phone connected while it moves something, and wakes it for more', async () => {
  const { lab, phones } = await withPhones(1, { timers: QUICK })
  await using _ = lab
  const [named] = phones
  if (named === undefined) throw new Error('no phone')
  named.phone.goIdle()
  lab.mme.setRadio(false)
  assert.not.ok(await lab.traffic.move(named, { up: 28, down: 0 }, FAST), 'nobody hears it')
  lab.mme.setRadio(true)
  await eventually(() => named.phone.isAttached)
  named.phone.goIdle()
  assert.is(lab.mme.bearerOf(named.imsi), undefined)
  assert.ok(await lab.traffic.move(named, { up: 28, down: 1 }, FAST))
  const { upBytes, downBytes } = lab.traffic.moved(named.imsi)
  assert.equal([upBytes, downBytes, named.phone.state], [28, 28, 'connected'])
})

traffic.run()
