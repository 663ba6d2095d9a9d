import { createHash, randomBytes } from 'node:crypto'
import { ftruncateSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { CaptureError, captureReader } from '../capture/capture-reader.ts'
import {
  type CounterHeader,
  type CounterReading,
  readCounters,
  writeCounters,
} from '../counters/counter-file.ts'
import { createTally, type Tally } from '../counters/tally.ts'
import { interfacePackets } from '../interface-packets.ts'
import { coreEnds } from '../packet/address.ts'
import { type PacketCount, packetCount } from './count-packets.ts'
import {
  BUFFER_TIMEOUT_MS,
  DAMAGED_STATUS,
  filterText,
  SNAP_LENGTH,
  TAP_FILES,
  type TapOrder,
} from './order.ts'

/** A session of npm `pcap`, as far as it is used. */
interface PcapSession {
  readonly link_type: string
  /** What a packet is copied to, of which each call of `on_packet_ready` says that it holds the next one. */
  readonly buf: Buffer
  /** Seconds, microseconds, octets that were captured, octets that there were: each 32 bits of the machine's order. */
  readonly header: Buffer
  on_packet_ready(): void
  stats(): { readonly ps_recv: number; readonly ps_drop: number; readonly ps_ifdrop: number }
}
interface PcapModule {
  readonly PcapSession: new (
    isLive: boolean,
    iface: string,
    filter: string,
    bufferBytes: number,
    snapLength: number,
    outfile: undefined,
    isMonitor: boolean,
    bufferTimeoutMs: number,
    isPromiscuous: boolean,
  ) => PcapSession
}

/** How often what has changed is written; and at least, as a sign of life. */
const WRITE_MS = 100
const LEAST_WRITE_MS = 1_000
/** While packets keep coming no timer runs: the time is looked at after so many. */
const PACKETS_A_LOOK = 1_024
const HEADER_WORDS = 4
const LINKS: Readonly<Record<string, number>> = {
  LINKTYPE_NULL: 0,
  LINKTYPE_ETHERNET: 1,
  LINKTYPE_RAW: 101,
  LINKTYPE_LINUX_SLL: 113,
}

/** Counts what an interface carries, on from what a child before has written; never returns. */
async function watchInterface(
  { iface, bufferBytes }: TapOrder,
  before: CounterReading | undefined,
  count: PacketCount,
  tally: Tally,
): Promise<never> {
  let packets = 0
  let link = -1
  const soon = delayed(() => write(Date.now()))
  const look = (): void => {
    const nowMs = Date.now()
    if (nowMs - writtenMs >= WRITE_MS) write(nowMs)
  }
  const session = openSession(iface, bufferBytes, (octets, header) => {
    const [seconds = 0, microseconds = 0, captured = 0] = header
    count.packet(link, seconds * 1_000 + Math.floor(microseconds / 1_000), octets, 0, captured)
    packets += 1
    soon()
    if (packets % PACKETS_A_LOOK === 0) look()
  })
  link = LINKS[session.link_type] ?? -1
  const carried = interfacePackets(iface) ?? 0
  const past = before?.header
  const generation = before?.generation ?? randomBytes(16).toString('hex')
  const sinceMs = past?.sinceMs ?? Date.now()
  // An interface that came anew began from 0.
  const gap = past === undefined ? 0 : carried >= past.carried ? carried - past.carried : carried
  // What is sent on the loopback interface comes back on it: libpcap takes both in and hands one on.
  const copies = iface === 'lo' ? 2 : 1
  let writes = (past?.writes ?? -1) + 1
  let writtenMs = 0
  let last = -1
  const { promise: never, reject: gone } = Promise.withResolvers<never>()
  const write = (nowMs: number): void => {
    // Nothing new, and a sign of life not long ago.
    if (last === count.seen.received + session.stats().ps_drop && nowMs - writtenMs < LEAST_WRITE_MS) return
    // In this order: what comes in between waits, and is not taken for counted.
    const carriedNow = interfacePackets(iface)
    if (carriedNow === undefined) {
      gone(new Error(`the interface ${iface} has gone`))
      return
    }
    const { ps_recv: taken, ps_drop: dropped } = session.stats()
    const waiting = Math.max(0, Math.ceil((taken - dropped) / copies) - packets)
    const { received } = count.seen
    const header = {
      writes,
      writtenMs: nowMs,
      sinceMs,
      ...seenWith(count, past),
      dropped: dropped + (past?.dropped ?? 0),
      missed: gap + (past?.missed ?? 0),
      carried: Math.max(0, carriedNow - waiting),
      isAtEnd: true,
    }
    writeCounters(TAP_FILES.counters, generation, header, tally)
    last = received + dropped
    writes += 1
    writtenMs = nowMs
  }
  process.on('SIGTERM', () => {
    write(Date.now())
    process.exit(0)
  })
  write(Date.now())
  // Nothing wakes a process whose interface is still but the sign of life.
  setInterval(() => write(Date.now()), LEAST_WRITE_MS)
  return await never
}

/** What was seen, with what a child before has. */
function seenWith({ seen, refused }: PacketCount, past: CounterHeader | undefined) {
  return {
    received: seen.received + (past?.received ?? 0),
    malformed: seen.malformed + (past?.malformed ?? 0),
    unmatched: seen.unmatched + (past?.unmatched ?? 0),
    foreign: seen.foreign + (past?.foreign ?? 0),
    refused: refused.packets + (past?.refused ?? 0),
    refusedBytes: refused.octets + (past?.refusedBytes ?? 0),
  }
}

/** Does it once `WRITE_MS` after it was asked for, however often that is meanwhile. */
function delayed(work: () => void): () => void {
  let isDue = false
  const due = (): void => {
    isDue = false
    work()
  }
  return () => {
    if (isDue) return
    isDue = true
    setTimeout(due, WRITE_MS)
  }
}

/**
 * Looks from the next turn of the event loop on. `packet` is told of each one as it lies in the buffers of the session: its
 * own event, with an object that holds them, takes a third as long again.
 */
function openSession(
  iface: string,
  bufferBytes: number,
  packet: (octets: Buffer, header: Uint32Array) => void,
): PcapSession {
  let header: Uint32Array | undefined
  class Session extends pcapModule().PcapSession {
    override on_packet_ready(): void {
      header ??= new Uint32Array(this.header.buffer, this.header.byteOffset, HEADER_WORDS)
      packet(this.buf, header)
    }
  }
  return new Session(
    true,
    iface,
    filterText(),
    bufferBytes,
    SNAP_LENGTH,
    undefined,
    false,
    BUFFER_TIMEOUT_MS,
    false,
  )
}

function pcapModule(): PcapModule {
  try {
    // Native, and absent where it could not be built.
    return createRequire(import.meta.url)('pcap') as PcapModule
  } catch (error) {
    const words = error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''
    throw new Error(
      `the package pcap is not there (${words}); take collector.upf.driver nft, or install libpcap-dev, make, g++ and python3 and run npm run native`,
      { cause: error },
    )
  }
}

const PIECE_BYTES = 256 * 1024
/** How often it looks whether the capture has grown. */
const LOOK_MS = 500

/**
 * Counts a capture from its beginning and goes on as it grows; never returns. Rejects with `CaptureError` once what came
 * before the damage is written.
 */
async function followCapture(files: typeof TAP_FILES, count: PacketCount, tally: Tally): Promise<never> {
  // What a child before has written of it must not be taken for this one's.
  for (const file of files.counters) ftruncateSync(file)
  let writes = 0
  let dropped = 0
  let sinceMs = 0
  let generation = 'empty'
  const reader = captureReader({
    packet: (link, atMs, octets, from, end) => {
      if (generation === 'empty') {
        sinceMs = Math.floor(atMs)
        generation = nameOf(link, atMs, octets.subarray(from, end))
      }
      count.packet(link, atMs, octets, from, end)
    },
    dropped: (packets) => {
      dropped = packets
    },
  })
  const write = (isAtEnd: boolean, unmatched = count.seen.unmatched): void => {
    const now = { writes, writtenMs: Date.now(), sinceMs, missed: 0, carried: 0 }
    const { packets: refused, octets: refusedBytes } = count.refused
    const seen = { ...count.seen, refused, refusedBytes }
    writeCounters(files.counters, generation, { ...seen, ...now, unmatched, dropped, isAtEnd }, tally)
    writes += 1
  }
  const piece = Buffer.alloc(PIECE_BYTES)
  let at = 0
  let isWritten = false
  for (;;) {
    const octets = readSync(files.capture, piece, 0, PIECE_BYTES, at)
    at += octets
    try {
      reader.push(piece.subarray(0, octets))
    } catch (error) {
      // What comes after the damage is not known: at least that much is missing.
      if (error instanceof CaptureError) write(true, count.seen.unmatched + 1)
      throw error
    }
    if (octets > 0) isWritten = false
    else if (!isWritten) {
      write(true)
      isWritten = true
    }
    await (octets > 0 ? turn() : pause(LOOK_MS))
  }
}

/** The same capture has the same name wherever it lies, and while it grows. */
function nameOf(link: number, atMs: number, frame: Uint8Array): string {
  return createHash('sha256').update(`${link} ${atMs} `).update(frame).digest('hex').slice(0, 32)
}

/** The program that looks at packets. It has the descriptors that it was given and, for `pcap`, one capability. */
async function main(): Promise<void> {
  // The service, of the same build, writes it.
  const order = JSON.parse(process.argv[2] ?? '') as TapOrder
  // Ends with the service, also where the kernel does not see to it.
  process.stdin.on('end', () => process.exit(0)).resume()
  const ends = coreEnds(order.core)
  if (order.driver === 'file') {
    const tally = createTally()
    await followCapture(TAP_FILES, packetCount(ends, tally), tally)
    return
  }
  const before = readCounters(TAP_FILES.counters)
  const tally = createTally(before?.rows)
  await watchInterface(order, before, packetCount(ends, tally), tally)
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () =>
    process.exit(error instanceof CaptureError ? DAMAGED_STATUS : 1),
  )
})
