import { createHash } from 'node:crypto'
import { ftruncateSync, readSync } from 'node:fs'
import process from 'node:process'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { CaptureError } from '../capture/capture-error.ts'
import { captureReader } from '../capture/capture-reader.ts'
import { readCounters, writeCounters } from '../counters/counter-file.ts'
import { createTally, type Tally } from '../counters/tally.ts'
import { coreEnds } from '../packet/address.ts'
import { type PacketCount, packetCount } from './count-packets.ts'
import { DAMAGED_STATUS, TAP_FILES, type TapOrder } from './order.ts'
import { watchInterface } from './watch-interface.ts'

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
    await (octets > 0 ? setImmediate() : setTimeout(LOOK_MS))
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
