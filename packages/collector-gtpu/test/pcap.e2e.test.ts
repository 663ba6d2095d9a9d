import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { assert, eventually, suite } from '@steeple/testkit'
import type { ChildTap } from '../src/child/child-tap.ts'
import { tapCollector } from '../src/collector.ts'
import { PACKETS, RATES, readsExactly } from './support/exactly.ts'
import { type Carried, CORE, frame, gpdu, pcapngOf, pcapOf, truthOf, tunnelOf } from './support/frames.ts'
import {
  folder,
  isLooking,
  NEVER,
  octetsOf,
  openPcap,
  send,
  startFile,
  startPcap,
  systemClock,
} from './support/taps.ts'
import { enterVethNetwork, RECEIVING } from './support/veth.ts'

enterVethNetwork(import.meta.filename)

const exact = suite('collector-gtpu/pcap')

const SOME = PACKETS.slice(0, 500)
/** Two phones of them, which have sent and got something: the second takes the first one's address. */
const [VICTIM, FORGER] = ['10.45.0.1', '10.45.0.2']
const FORGED_OCTETS = 1_000
const FORGED: readonly Carried[] = Array.from({ length: 200 }, () => ({
  isUp: true,
  phone: VICTIM,
  tunnel: tunnelOf(FORGER),
  octets: FORGED_OCTETS,
}))

function statusOf(pid: number | undefined): Readonly<Record<string, string>> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(/:\s+/) as [string, string]))
}

if (hasPcap()) {
  exact('counts each octet through libpcap at every rate, with one capability and no other', async () => {
    const own = folder()
    const tap = await openPcap({ folder: own.path })
    try {
      for (const rate of RATES) send(PACKETS, `--pps=${rate}`)
      const { lost } = await readsExactly(tap, RATES.length)
      assert.is(lost, 0)
      const { CapInh, CapPrm, CapEff, CapAmb, NoNewPrivs, Uid } = statusOf(tap.pid)
      const raw = '0000000000002000'
      assert.equal([CapInh, CapPrm, CapEff, CapAmb, NoNewPrivs], [raw, raw, raw, raw, '1'])
      assert.match(Uid ?? '', process.geteuid?.() === 0 ? /^\d+/ : `${process.geteuid?.()}`)
    } finally {
      await tap.close(false)
      own.remove()
    }
  })

  exact('counts no forged address, and says how much was forged, on over a killed child', async () => {
    const own = folder()
    const tap = await openPcap({ folder: own.path })
    try {
      send([...SOME, ...FORGED, ...SOME])
      await refusesForged(tap)
      const { pid } = tap
      process.kill(pid ?? 0, 'SIGKILL')
      await isLooking(tap, pid)
      await refusesForged(tap)
    } finally {
      await tap.close(false)
      own.remove()
    }
  })

  exact('goes on with the counters of a killed child, and bounds what that cost', async () => {
    const own = folder()
    const tap = await openPcap({ folder: own.path })
    try {
      for (let kill = 0; kill < 3; kill += 1) {
        send(PACKETS.slice(0, 2_000), '--pps=50000')
        const { pid } = tap
        process.kill(pid ?? 0, 'SIGKILL')
        send(PACKETS.slice(0, 500), '--pps=50000')
        await isLooking(tap, pid)
      }
      send(PACKETS.slice(0, 1_000))
      const sent = 3 * 2_500 + 1_000
      await eventually(async () => {
        const snapshot = await tap.snapshot(undefined, NEVER)
        const { received } = tap.stats()
        assert.ok(received <= sent, 'nothing counts twice')
        assert.ok(received >= 1_000, 'what came last is counted')
        assert.ok(
          received + snapshot.lost >= sent,
          `${received} counted, ${snapshot.lost} said to be lost, of ${sent}`,
        )
      })
      const { lost } = await tap.snapshot(undefined, NEVER)
      assert.ok(lost <= sent, 'the bound is no more than what the interface carried')
    } finally {
      await tap.close(false)
      own.remove()
    }
  })

  exact(
    'loses nothing and says so when its child and its service are killed while nothing moves',
    async () => {
      for (const iface of [RECEIVING, 'lo']) {
        const own = folder()
        const place = { folder: own.path, iface, core: [CORE, '127.0.0.7'] }
        let tap = await openPcap(place)
        try {
          if (iface === 'lo') await sendLocally(PACKETS.slice(0, 300))
          else send(PACKETS.slice(0, 300))
          await eventually(async () => {
            await tap.snapshot(undefined, NEVER)
            assert.is(tap.stats().received, 300)
          })
          const before = await tap.snapshot(undefined, NEVER)
          const { pid } = tap
          process.kill(pid ?? 0, 'SIGKILL')
          await isLooking(tap, pid)
          await tap.close(true)
          tap = await openPcap(place)
          const { generation, lost, counters } = await tap.snapshot(undefined, NEVER)
          assert.equal([generation, lost, counters], [before.generation, 0, before.counters])
        } finally {
          await tap.close(false)
          own.remove()
        }
      }
    },
  )

  exact('leaves no child behind when the service is killed', async () => {
    const own = folder()
    const script = `
      const { openPcap } = await import(${JSON.stringify(new URL('./support/taps.ts', import.meta.url).href)})
      const tap = await openPcap({ folder: ${JSON.stringify(own.path)} })
      process.stdout.write(String(tap.pid))
      setInterval(() => tap.tick(), 500)`
    const service = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', script])
    try {
      const [pid] = await once(service.stdout, 'data')
      // One that cannot hear of it is ended too.
      process.kill(Number(pid), 'SIGSTOP')
      service.kill('SIGKILL')
      await eventually(() => assert.not.ok(isRunning(Number(pid))))
    } finally {
      service.kill('SIGKILL')
      own.remove()
    }
  })

  exact('goes by the time of the service, whatever the clock of the machine says', async () => {
    const own = folder()
    // The machine's clock is off, and the service does not believe it.
    const aheadMs = -40 * 86_400_000
    const clock = { ...systemClock, nowMs: () => Date.now() + aheadMs }
    const tap = await openPcap({ folder: own.path, clock })
    try {
      const collector = tapCollector(tap, clock)
      let position: string | undefined
      const sums: number[] = []
      for (const round of [1, 2]) {
        const beganMs = clock.nowMs()
        send(PACKETS.slice(0, 500))
        await eventually(async () => {
          const found = await collector.poll(position, NEVER)
          position = found.position
          if (tap.stats().received < round * 500) throw new Error('it has not read all yet')
          for (const { fromMs, toMs } of found.volumes)
            assert.ok(fromMs <= toMs && toMs >= Math.floor(beganMs) && toMs <= Math.ceil(clock.nowMs()))
          sums.push(found.volumes.length)
        })
      }
      assert.ok(sums.every((volumes) => volumes > 0))
    } finally {
      await tap.close(false)
      own.remove()
    }
  })

  exact('says each packet that a stopped child had no room for', async () => {
    const own = folder()
    const tap = await openPcap({ folder: own.path, bufferBytes: 64 * 1024 })
    try {
      process.kill(tap.pid ?? 0, 'SIGSTOP')
      send(PACKETS)
      process.kill(tap.pid ?? 0, 'SIGCONT')
      await eventually(async () => {
        const { lost } = await tap.snapshot(undefined, NEVER)
        const { received, dropped } = tap.stats()
        assert.ok(dropped > 0)
        assert.equal([received + dropped, lost], [PACKETS.length, dropped])
      })
    } finally {
      await tap.close(false)
      own.remove()
    }
  })
} else
  exact('says that npm pcap was not built, and what to take instead', async () => {
    const own = folder()
    const tap = startPcap({ folder: own.path })
    try {
      await eventually(() =>
        assert.match(tap.state().detail, /pcap is not there.*take collector\.upf\.driver nft/),
      )
    } finally {
      await tap.close(false)
      own.remove()
    }
  })

exact('counts no forged address of a capture, in both formats, and says how much was forged', async () => {
  for (const capture of [pcapOf, pcapngOf]) {
    const own = folder()
    const file = join(own.path, 'captured')
    writeFileSync(file, capture([...SOME, ...FORGED, ...SOME].map(frame)))
    const tap = startFile(own.path, file)
    try {
      await refusesForged(tap)
    } finally {
      await tap.close(false)
      own.remove()
    }
  }
})

/** Waits until the tap has counted `SOME` twice and nothing of `FORGED`. */
async function refusesForged(tap: ChildTap): Promise<void> {
  await eventually(async () => {
    tap.tick()
    const snapshot = await tap.snapshot(undefined, NEVER)
    assert.equal(Object.fromEntries(octetsOf(snapshot)), Object.fromEntries(truthOf([...SOME, ...SOME])))
    assert.is(snapshot.lost, 0)
    const { refused, refusedBytes } = tap.stats()
    assert.equal([refused, refusedBytes], [FORGED.length, FORGED.length * FORGED_OCTETS])
  }, 60_000)
}

/** Whether a process is there; one that has ended and that nobody has asked about is not. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Sends the GTP-U of packets to the core on the loopback interface. */
async function sendLocally(packets: readonly Carried[]): Promise<void> {
  const socket = createSocket('udp4')
  await new Promise<void>((done) => socket.bind(0, '127.0.1.1', done))
  for (const one of packets) await new Promise((done) => socket.send(gpdu(one), 2152, '127.0.0.7', done))
  socket.close()
}

function hasPcap(): boolean {
  try {
    createRequire(import.meta.url)('pcap')
    return true
  } catch {
    return false
  }
}

exact.run()
