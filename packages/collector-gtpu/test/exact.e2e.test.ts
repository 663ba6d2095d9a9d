import { createSocket } from 'node:dgram'
import { assert, runTool, suite } from '@steeple/testkit'
import type { TapSnapshot } from '../src/upf-tap.ts'
import { PACKETS, RATES, readsExactly, times } from './support/exactly.ts'
import { type Carried, CORE, CORE_6, ethernet, gpdu, merged, outer, truthOf } from './support/frames.ts'
import { NEVER, octetsOf, openNft, send, sendFrames } from './support/taps.ts'
import { enterVethNetwork, RECEIVING, SENDING } from './support/veth.ts'

enterVethNetwork(import.meta.filename)

const exact = suite('collector-gtpu/exact')

for (const iface of [RECEIVING, SENDING])
  exact(
    `counts each octet by rules at every rate, where packets ${iface === SENDING ? 'leave' : 'arrive'}`,
    async () => {
      await using tap = await openNft(iface)
      for (const rate of RATES) send(PACKETS, `--pps=${rate}`)
      const { lost } = await readsExactly(tap, RATES.length)
      assert.is(lost, 0)
      assert.is(tap.stats().received, RATES.length * PACKETS.length)
    },
  )

exact('counts each octet of tunnels over IPv6, and behind a tag, by rules', async () => {
  await using tap = await openNft()
  const more = PACKETS.slice(0, 500).flatMap((one): readonly Carried[] => [
    { ...one, isOuterIpv6: true },
    { ...one, vlans: [7] },
    one,
  ])
  send(more)
  const truth = truthOf(more)
  const snapshot = await tap.snapshot(undefined, NEVER)
  assert.equal(Object.fromEntries(octetsOf(snapshot)), Object.fromEntries(truth))
})

exact('says each packet of a phone that rules cannot follow', async () => {
  await using tap = await openNft()
  const one: Carried = { isUp: true, phone: '10.45.0.2', octets: 100 }
  send([{ ...one, vlans: [7, 9] }, { ...one, vlans: [7, 9] }, { ...one, header: 64 }, one])
  const { lost, counters } = await tap.snapshot(undefined, NEVER)
  assert.equal([lost, counters.map(({ upBytes }) => upBytes)], [3, [100]])
})

exact('says datagrams that hold several packets, short ones from the first long one on', async () => {
  await using tap = await openNft()
  const one: Carried = { isUp: true, phone: '10.45.0.2', octets: 1_100 }
  const short: Carried = { ...one, octets: 60 }
  sendFrames([merged([one, { ...one, phone: '10.45.0.3' }]), outer(one)].map(ethernet))
  const first = await tap.snapshot(undefined, NEVER)
  assert.equal([first.lost, first.isFinal, octetsOf(first).get('10.45.0.2')], [1, true, [1_100, 0]])
  sendFrames([merged([short, short]), outer(short), outer({ ...one, octets: 1_500 })].map(ethernet))
  const second = await tap.snapshot(first.generation, NEVER)
  assert.equal([second.lost, octetsOf(second).get('10.45.0.2')], [1, [1_560, 0]])
  // It stays so for whoever goes on with the table.
  await tap.close(true)
  const next = await openNft()
  sendFrames([merged([short, short])].map(ethernet))
  const third = await next.snapshot(undefined, NEVER)
  assert.equal([third.generation, third.lost], [second.generation, 2])
})

exact('counts each octet of packets of every length by rules', async () => {
  await using tap = await openNft()
  const lengths = Array.from({ length: 9_000 }, (_, i) => 28 + i)
  const packets = lengths.map((octets): Carried => ({ isUp: octets % 2 === 0, phone: '10.45.0.2', octets }))
  send(packets, '--pps=20000')
  assert.equal(octetsOf(await tap.snapshot(undefined, NEVER)), truthOf(packets))
  // The same where each is compared.
  const one: Carried = { isUp: true, phone: '10.45.0.3', octets: 1_100 }
  sendFrames([ethernet(merged([one, one]))])
  const final = await tap.snapshot(undefined, NEVER)
  send(packets, '--pps=20000')
  const { counters, lost } = await tap.snapshot(final.generation, NEVER)
  assert.is(lost, 0)
  assert.equal(octetsOf({ ...final, counters }), truthOf(packets))
})

exact('loses nothing by rules while generations change and nobody is there to read', async () => {
  let tap = await openNft()
  try {
    let counted: string | undefined
    const sums = new Map<string, [number, number]>()
    for (let i = 0; i < 4; i += 1) {
      send(PACKETS.slice(0, 5_000), '--pps=100000')
      // Another service comes, with another idea of the core: its rules take over at one moment.
      await tap.close(true)
      tap = await openNft(RECEIVING, [CORE, CORE_6, `10.99.0.${i + 1}`])
      send(PACKETS.slice(5_000, 10_000), '--pps=100000')
      for (let isFinal = true; isFinal; ) {
        const snapshot = await tap.snapshot(counted, NEVER)
        isFinal = snapshot.isFinal
        if (!isFinal) break
        counted = snapshot.generation
        add(sums, snapshot)
      }
    }
    add(sums, await tap.snapshot(counted, NEVER))
    assert.equal(Object.fromEntries(sums), times(truthOf(PACKETS.slice(0, 10_000)), 4))
  } finally {
    await tap.close(false)
  }
})

exact('counts on the loopback interface each packet once, also where it runs over two legs', async () => {
  const core = ['127.0.0.6', '127.0.0.7']
  await using tap = await openNft('lo', core)
  const socket = createSocket('udp4')
  const sendTo = (one: Carried, to: string): Promise<void> =>
    new Promise((done, fail) => socket.send(gpdu(one), 2152, to, (error) => (error ? fail(error) : done())))
  await new Promise<void>((done) => socket.bind(0, '127.0.1.1', done))
  const inside = createSocket('udp4')
  await new Promise<void>((done) => inside.bind(0, '127.0.0.6', done))
  for (const one of PACKETS.slice(0, 100).filter(({ isUp }) => isUp)) {
    await sendTo(one, '127.0.0.6')
    await new Promise((done) => inside.send(gpdu(one), 2152, '127.0.0.7', done))
  }
  socket.close()
  inside.close()
  const truth = truthOf(PACKETS.slice(0, 100).filter(({ isUp }) => isUp))
  const snapshot = await tap.snapshot(undefined, NEVER)
  assert.equal(Object.fromEntries(octetsOf(snapshot)), Object.fromEntries(truth))
})

exact('has an interface that went and came again looked at again, and says what went by', async () => {
  await using tap = await openNft()
  send(PACKETS.slice(0, 100))
  const before = await tap.snapshot(undefined, NEVER)
  runTool('ip', 'link', 'del', SENDING)
  runTool(
    'sh',
    '-ec',
    'ip link add gtx0 type veth peer name grx0; ip link set gtx0 mtu 9500 up; ip link set grx0 mtu 9500 up',
  )
  send(PACKETS.slice(0, 30))
  const then = await tap.snapshot(undefined, NEVER)
  send(PACKETS.slice(0, 50))
  const last = await tap.snapshot(then.isFinal ? then.generation : undefined, NEVER)
  if (last.generation === before.generation) {
    // The kernel itself has put the rules on what came by that name (6.16 and later).
    assert.is(tap.stats().received, 180)
    return
  }
  assert.equal([octetsOf(then), then.isFinal], [octetsOf(before), true])
  assert.equal(octetsOf(last), truthOf(PACKETS.slice(0, 50)))
  assert.ok(last.began - then.carried >= 30, 'the bound covers what went by')
})

function add(sums: Map<string, [number, number]>, snapshot: TapSnapshot): void {
  for (const [address, [up, down]] of octetsOf(snapshot)) {
    const sum = sums.get(address) ?? [0, 0]
    sums.set(address, [sum[0] + up, sum[1] + down])
  }
}

exact.run()
