import { assert, eventually, runTool, suite } from '@steeple/testkit'
import type { TapSnapshot, UpfTap } from '../src/upf-tap.ts'
import { PACKETS, readsExactly } from './support/exactly.ts'
import { type Carried, CORE, CORE_6, ethernet, merged, outer, released, truthOf } from './support/frames.ts'
import { NEVER, octetsOf, openNft, send, sendFrames, sendOn } from './support/taps.ts'
import { enterVethNetwork, RECEIVING } from './support/veth.ts'

enterVethNetwork(import.meta.filename)

const inside = suite('collector-gtpu/inside')

/** The UPF's TUN interface, and the end at which this test is the UPF. */
const TUN = 'ogstun'
const UPF = 'ogx0'
const VICTIM = '10.45.0.1'
const FORGED: readonly Carried[] = Array.from({ length: 200 }, () => ({
  isUp: true,
  phone: VICTIM,
  octets: 1_000,
}))

/** Those of another DNN of it. */
const SECOND_TUN = 'ogstun2'
const SECOND_UPF = 'ogx1'

function startUpf(upf = UPF, tun = TUN, network = '10.45.255.1/16'): void {
  runTool(
    'sh',
    '-ec',
    `ip link add ${upf} type veth peer name ${tun}; ip link set ${upf} mtu 9500 up; ip addr add ${network} dev ${tun}; ip link set ${tun} mtu 9500 up`,
  )
}

function stopUpf(upf = UPF): void {
  runTool('ip', 'link', 'del', upf)
}

/** What an honest UPF lets out of packets. */
function letOut(packets: readonly Carried[], ...flags: readonly string[]): void {
  letOutOn(UPF, packets, ...flags)
}

function letOutOn(upf: string, packets: readonly Carried[], ...flags: readonly string[]): void {
  sendOn(upf, packets.filter(({ isUp }) => isUp).map(released), ...flags)
}

async function openInside(): Promise<UpfTap> {
  return await openNft(RECEIVING, [CORE, CORE_6], [TUN])
}

/** Reads until the tap has what it is to have counted in this generation. */
async function reads(tap: UpfTap, packets: readonly Carried[], counted?: string): Promise<TapSnapshot> {
  return await eventually(async () => {
    const snapshot = await tap.snapshot(counted, NEVER)
    assert.equal(Object.fromEntries(octetsOf(snapshot)), Object.fromEntries(truthOf(packets)))
    return snapshot
  })
}

inside('counts nothing for a phone whose address others forge, and says how many packets did', async () => {
  startUpf()
  const tap = await openInside()
  try {
    const honest = PACKETS.slice(0, 500).filter(({ phone }) => phone !== VICTIM)
    send(FORGED)
    send(honest)
    letOut(honest)
    const { lost, counters } = await reads(tap, honest)
    assert.is(lost, 0)
    assert.is(
      counters.find(({ address }) => address === VICTIM),
      undefined,
    )
    await eventually(async () => {
      await tap.snapshot(undefined, NEVER)
      assert.is(tap.stats().refused, FORGED.length)
    })
    assert.match(tap.state().detail, /what they send at ogstun/)
  } finally {
    await tap.close(false)
    stopUpf()
  }
})

for (const rate of [20_000, 100_000])
  inside(`counts each octet that leaves the UPF at ${rate} packets a second`, async () => {
    startUpf()
    const tap = await openInside()
    try {
      send(PACKETS, `--pps=${rate}`)
      letOut(PACKETS, `--pps=${rate}`)
      const { lost } = await readsExactly(tap, 1)
      assert.is(lost, 0)
    } finally {
      await tap.close(false)
      stopUpf()
    }
  })

inside('follows an interface that comes and goes, and counts at the tunnel meanwhile', async () => {
  const tap = await openInside()
  const some = PACKETS.slice(0, 300)
  try {
    send(some)
    const before = await reads(tap, some)
    assert.match(tap.state().detail, /at the tunnel: no interface ogstun is up/)
    startUpf()
    const tunnel = await tap.snapshot(undefined, NEVER)
    assert.equal([tunnel.generation, tunnel.isFinal, tunnel.lost], [before.generation, true, 0])
    const came = await tap.snapshot(tunnel.generation, NEVER)
    send(some)
    letOut(some)
    const there = await reads(tap, some)
    assert.equal([there.generation, there.lost], [came.generation, 0])
    stopUpf()
    const gone = await tap.snapshot(undefined, NEVER)
    assert.equal([gone.generation, gone.isFinal, octetsOf(gone)], [came.generation, true, truthOf(some)])
    send(some)
    const last = await reads(tap, some, gone.generation)
    // What the interface carried is known without a gap.
    assert.equal([last.began - gone.carried, last.lost], [0, 0])
  } finally {
    await tap.close(false)
  }
})

inside('counts at every interface of a UPF with several, and at the tunnel while one is away', async () => {
  const some = PACKETS.slice(0, 300)
  const isOfFirst = ({ phone }: Carried): boolean => phone.includes(':')
  const leave = (packets: readonly Carried[]): void => {
    letOut(packets.filter((one) => isOfFirst(one)))
    letOutOn(
      SECOND_UPF,
      packets.filter((one) => !isOfFirst(one)),
    )
  }
  startUpf()
  const tap = await openNft(RECEIVING, [CORE, CORE_6], [TUN, SECOND_TUN])
  try {
    send(some)
    const before = await reads(tap, some)
    assert.match(tap.state().detail, /at the tunnel: no interface ogstun2 is up/)
    startUpf(SECOND_UPF, SECOND_TUN, '10.46.255.1/16')
    const tunnel = await tap.snapshot(undefined, NEVER)
    assert.equal([tunnel.generation, tunnel.isFinal], [before.generation, true])
    const came = await tap.snapshot(tunnel.generation, NEVER)
    send(FORGED)
    send(some)
    leave(some)
    const there = await reads(tap, some)
    assert.equal([there.generation, there.lost], [came.generation, 0])
    assert.match(tap.state().detail, /what they send at ogstun, ogstun2/)
    stopUpf(SECOND_UPF)
    const gone = await tap.snapshot(undefined, NEVER)
    assert.equal([gone.generation, gone.isFinal, octetsOf(gone)], [came.generation, true, truthOf(some)])
    send(some)
    const { lost } = await reads(tap, some, gone.generation)
    assert.is(lost, 0)
  } finally {
    await tap.close(false)
    stopUpf()
  }
})

inside('stays with an interface that nobody has open for a while, and takes up no other’s', async () => {
  startUpf()
  runTool('ip', 'link', 'set', UPF, 'down')
  const tap = await openInside()
  try {
    const one: Carried = { isUp: true, phone: VICTIM, octets: 100 }
    send([one])
    await reads(tap, [one])
    runTool('ip', 'link', 'set', UPF, 'up')
    const { generation } = await eventually(async () => {
      const snapshot = await tap.snapshot(undefined, NEVER)
      assert.ok(snapshot.isFinal)
      return snapshot
    })
    const { generation: now } = await tap.snapshot(generation, NEVER)
    runTool('ip', 'link', 'set', UPF, 'down')
    send(FORGED)
    const still = await reads(tap, [])
    assert.is(still.generation, now)
  } finally {
    await tap.close(false)
    stopUpf()
  }
})

inside('says when nothing comes out where it looks, and does not take it for zero', async () => {
  startUpf()
  const tap = await openInside()
  try {
    send(FORGED)
    const { lost } = await reads(tap, [])
    assert.is(lost, FORGED.length)
    assert.is(tap.state().status, 'degraded')
    assert.match(tap.state().detail, /none came out of ogstun/)
  } finally {
    await tap.close(false)
    stopUpf()
  }
})

inside('needs no look at lengths of what is sent: what leaves is not put together', async () => {
  startUpf()
  const tap = await openInside()
  try {
    const one: Carried = { isUp: true, phone: '10.45.0.2', octets: 1_100 }
    sendFrames([merged([one, { ...one, phone: '10.45.0.3' }]), outer(one)].map(ethernet))
    const all = [one, { ...one, phone: '10.45.0.3' }, one]
    letOut(all)
    const { lost } = await reads(tap, all)
    assert.is(lost, 0)
    // Toward the phones it stays as it was.
    const down: Carried = { ...one, isUp: false }
    sendFrames([ethernet(merged([down, down]))])
    await eventually(async () => assert.is((await tap.snapshot(undefined, NEVER)).lost, 1))
  } finally {
    await tap.close(false)
    stopUpf()
  }
})

inside(
  'counts what the UPF hands on from one phone to another by itself, and once where the kernel does',
  async () => {
    startUpf()
    runTool(
      'sh',
      '-ec',
      `sysctl -qw net.ipv6.conf.${TUN}.disable_ipv6=0; ip addr add 2001:db8:45::1/48 dev ${TUN} nodad`,
    )
    const tap = await openInside()
    try {
      const ways = [8, 12, 16, 24].flatMap((header) =>
        [
          [VICTIM, '10.45.0.2'],
          ['2001:db8:45:1::1', '2001:db8:45:2::1'],
        ].map(([phone = '', peer = '']) => ({ phone, peer, header, octets: 500 })),
      )
      const sent = ways.map((one): Carried => ({ ...one, isUp: true }))
      const got = ways.map((one): Carried => ({ ...one, isUp: false, phone: one.peer, peer: one.phone }))
      const others: readonly Carried[] = [VICTIM, '10.45.0.2'].map((phone) => ({
        isUp: false,
        phone,
        octets: 700,
      }))
      send([...sent, ...FORGED])
      send([...got, ...others])
      await reads(tap, [...sent, ...got, ...others])
      // By way of the kernel: it leaves the UPF, and comes back to it.
      send(sent)
      letOut(sent)
      sendOn(TUN, sent.map(released))
      send(got)
      const { lost } = await reads(tap, [...sent, ...got, ...others, ...sent, ...got])
      assert.is(lost, 0)
      await eventually(async () => {
        await tap.snapshot(undefined, NEVER)
        assert.is(tap.stats().refused, FORGED.length)
      })
    } finally {
      await tap.close(false)
      stopUpf()
    }
  },
)

inside.run()
