import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Collection, Collector, Imsi, ImsiHash } from '@steeple/contracts'
import { assert, type BegunSession, collectorConformance, eventually, runTool } from '@steeple/testkit'
import { type ChildTap, createChildTap } from '../src/child/child-tap.ts'
import { tapCollector } from '../src/collector.ts'
import type { UpfTap } from '../src/upf-tap.ts'
import { type Carried, CORE, frame, pcapngDrops, pcapngOf, pcapngPackets } from './support/frames.ts'
import {
  folder,
  isLooking,
  NEVER,
  noLog,
  openNft,
  openPcap,
  PROGRAM,
  send,
  sendFrames,
  startPcap,
  systemClock,
} from './support/taps.ts'
import { enterVethNetwork, SENDING } from './support/veth.ts'

enterVethNetwork(import.meta.filename)

/** The least that an IPv6 packet has: the suite moves single octets, which no packet can be. */
const UNIT = 40
const LARGEST = UNIT * 200

const PHONES = [phone(1, '10.45.0.2', undefined), phone(2, undefined, '2001:db8:45:9::/64')] as const

function phone(last: number, address: string | undefined, prefix: string | undefined): BegunSession {
  return { imsi: `00000000000${last}` as ImsiHash, apn: 'internet', address, prefix }
}

/** The packets that move so many units for a phone. */
function packetsOf({ address }: BegunSession, up: number, down: number): readonly Carried[] {
  const of = (units: number, isUp: boolean): readonly Carried[] => {
    const sizes: number[] = []
    for (let rest = units * UNIT; rest > 0; rest -= LARGEST) sizes.push(Math.min(rest, LARGEST))
    return sizes.map((octets) => ({ isUp, phone: address ?? '2001:db8:45:9::77', octets, header: 16 }))
  }
  return [...of(up, true), ...of(down, false)]
}

/** What it counts in units; anything else was never moved. */
function inUnits(collector: Collector): Collector {
  const poll = async (position: string | undefined, signal: AbortSignal): Promise<Collection> => {
    const collection = await collector.poll(position, signal)
    const volumes = collection.volumes.map((volume) => {
      assert.is(volume.upBytes % UNIT, 0)
      assert.is(volume.downBytes % UNIT, 0)
      return { ...volume, upBytes: volume.upBytes / UNIT, downBytes: volume.downBytes / UNIT }
    })
    return { ...collection, volumes }
  }
  return { ...collector, poll }
}

const COMMON = {
  clock: systemClock,
  imsis: ['999990000000001' as Imsi],
  restartCore: async () => undefined,
}

function unplug(): void {
  runTool('ip', 'link', 'del', SENDING)
}

function plug(): void {
  runTool(
    'sh',
    '-ec',
    'ip link show gtx0 >/dev/null 2>&1 || { ip link add gtx0 type veth peer name grx0; ip link set gtx0 mtu 9500 up; ip link set grx0 mtu 9500 up; }',
  )
}

collectorConformance('collector-gtpu nft', async () => {
  plug()
  let tap: UpfTap = await openNft()
  return {
    ...COMMON,
    collector: inUnits(tapCollector(tap, systemClock)),
    traffic: {
      phones: PHONES,
      move: async (one, up, down) => void send(packetsOf(one, up, down)),
      lose: async (one) => {
        // The first fragment of an outer packet: what is in the others is not known to rules.
        const whole = frame({ isUp: true, phone: one.address ?? '', octets: 100 })
        whole.writeUInt16BE(0x2000, 14 + 6)
        sendFrames([whole])
      },
    },
    reopen: async () => {
      await tap.close(true)
      tap = await openNft().catch(() => tap)
      return inUnits(tapCollector(tap, systemClock))
    },
    fallSilent: async () => unplug(),
    world: async () => runTool('nft', 'list', 'ruleset'),
    close: async () => {
      await tap.close(false)
      assert.is(runTool('nft', 'list', 'tables'), '')
    },
  }
})

if (hasPcap())
  collectorConformance('collector-gtpu pcap', async () => {
    plug()
    const own = folder()
    let tap: ChildTap = await openPcap({ folder: own.path })
    /** What it has seen is written a moment later. */
    const settle = async (received: number): Promise<void> =>
      await eventually(async () => {
        await tap.snapshot(undefined, NEVER)
        assert.is(tap.stats().received, received)
      }, 60_000)
    const killed = async (): Promise<void> => {
      const { pid } = tap
      if (pid === undefined) return
      process.kill(pid, 'SIGKILL')
      await eventually(() => assert.is.not(tap.pid, pid), 60_000)
    }
    let received = 0
    let isSilent = false
    const move = async (one: BegunSession, up: number, down: number): Promise<void> => {
      const packets = packetsOf(one, up, down)
      received += packets.length
      send(packets)
      await settle(received)
    }
    return {
      ...COMMON,
      collector: inUnits(tapCollector(tap, systemClock)),
      traffic: {
        phones: PHONES,
        move,
        lose: async (one) => {
          await killed()
          send(packetsOf(one, 9, 9))
          await isLooking(tap)
        },
      },
      restartSource: async () => {
        const { pid } = tap
        await killed()
        await isLooking(tap, pid)
      },
      reopen: async () => {
        await tap.close(true)
        tap = startPcap({ folder: own.path })
        if (!isSilent) await isLooking(tap)
        return inUnits(tapCollector(tap, systemClock))
      },
      fallSilent: async () => {
        unplug()
        isSilent = true
        await eventually(() => assert.is(tap.pid, undefined), 60_000)
        await tap.snapshot(undefined, NEVER).catch(() => undefined)
      },
      world: async () => runTool('nft', 'list', 'ruleset'),
      close: async () => {
        await tap.close(false)
        own.remove()
      },
    }
  })

collectorConformance('collector-gtpu file', async () => {
  const own = folder()
  const capture = join(own.path, 'captured.pcapng')
  // A capture is known by its first packet.
  const first: Carried = { isUp: true, phone: '10.45.7.7', octets: UNIT }
  writeFileSync(capture, pcapngOf([frame(first)], Date.now()))
  const open = (): ChildTap =>
    createChildTap({
      order: { driver: 'file', iface: '', core: [CORE], bufferBytes: 0 },
      folder: own.path,
      capture,
      clock: systemClock,
      log: noLog,
      program: PROGRAM,
    })
  let tap = open()
  let received = 1
  const settle = async (): Promise<void> =>
    await eventually(async () => {
      tap.tick()
      await tap.snapshot(undefined, NEVER)
      assert.is(tap.stats().received, received)
    }, 60_000)
  // A tap that is left behind would keep the test from ending.
  await settle().catch(async (error: unknown) => {
    await tap.close(false)
    throw error
  })
  return {
    ...COMMON,
    collector: inUnits(tapCollector(tap, systemClock)),
    traffic: {
      phones: PHONES,
      move: async (one, up, down) => {
        const packets = packetsOf(one, up, down)
        received += packets.length
        appendFileSync(capture, pcapngPackets(packets.map(frame), Date.now()))
        await settle()
      },
      lose: async () => appendFileSync(capture, pcapngDrops(3)),
    },
    restartSource: async () => {
      process.kill(tap.pid ?? 0, 'SIGKILL')
      await settle()
    },
    reopen: async () => {
      await tap.close(true)
      tap = open()
      if (existsSync(capture)) await settle()
      return inUnits(tapCollector(tap, systemClock))
    },
    fallSilent: async () => rmSync(capture),
    world: async () => '',
    close: async () => {
      await tap.close(false)
      own.remove()
    },
  }
})

function hasPcap(): boolean {
  try {
    createRequire(import.meta.url)('pcap')
    return true
  } catch {
    return false
  }
}
