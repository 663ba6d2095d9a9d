import { inGroups } from '@steeple/telecom'
import { CaptureError } from './capture-error.ts'
import {
  type CaptureHandler,
  MOST_RECORD,
  type PacketHandler,
  type RecordReader,
  viewOf,
} from './capture-format.ts'
import { pcapngRecords } from './pcapng-records.ts'

/** https://www.tcpdump.org/manpages/pcap-savefile.5.html: with microseconds, with nanoseconds. */
const MICROSECONDS = 0xa1b2c3d4
const NANOSECONDS = 0xa1b23c4d
const FILE_HEADER = 24
const RECORD_HEADER = 16
/** The upper bits of the link type tell of a frame check sequence. */
const LINK_MASK = 0x0fff_ffff

/** Reads `.pcap`; undefined when the octets do not begin as one. */
function pcapRecords(begin: Uint8Array, packet: PacketHandler): RecordReader | undefined {
  const magic = viewOf(begin).getUint32(0, true)
  const swapped = viewOf(begin).getUint32(0, false)
  const isLittle = magic === MICROSECONDS || magic === NANOSECONDS
  if (!isLittle && swapped !== MICROSECONDS && swapped !== NANOSECONDS) return undefined
  const perMs = (isLittle ? magic : swapped) === NANOSECONDS ? 1_000_000 : 1_000
  let link: number | undefined
  return {
    take: (octets, from, end, offset) => {
      const view = viewOf(octets)
      if (link === undefined) {
        if (end - from < FILE_HEADER) return 0
        link = view.getUint32(from + 20, isLittle) & LINK_MASK
        return FILE_HEADER
      }
      if (end - from < RECORD_HEADER) return 0
      const captured = view.getUint32(from + 8, isLittle)
      if (captured > MOST_RECORD) throw new CaptureError(offset, `a packet of ${inGroups(captured)} octets`)
      if (end - from < RECORD_HEADER + captured) return 0
      const atMs = view.getUint32(from, isLittle) * 1_000 + view.getUint32(from + 4, isLittle) / perMs
      packet(link, atMs, octets, from + RECORD_HEADER, from + RECORD_HEADER + captured)
      return RECORD_HEADER + captured
    },
  }
}

/** Reads a capture in pieces of any size. */
export interface CaptureReader {
  /** Throws `CaptureError`, and again at each further call. */
  push(piece: Uint8Array): void
  /** Octets that wait for the rest of their record. */
  readonly waiting: number
}

/** What is read of a capture before its format is known. */
const MAGIC_BYTES = 4

/** For `.pcap` (either order of octets, micro- and nanoseconds) and `.pcapng`, told apart by how they begin. */
export function captureReader(handler: CaptureHandler): CaptureReader {
  let rest: Uint8Array = new Uint8Array()
  let offset = 0
  let format: RecordReader | undefined
  let failure: unknown
  const read = (octets: Uint8Array): number => {
    let at = 0
    if (format === undefined && octets.length >= MAGIC_BYTES) format = formatOf(octets, handler)
    while (format !== undefined && at < octets.length) {
      const taken = format.take(octets, at, octets.length, offset + at)
      if (taken === 0) break
      at += taken
    }
    return at
  }
  return {
    get waiting() {
      return rest.length
    },
    push: (piece) => {
      if (failure !== undefined) throw failure
      const octets = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      try {
        const taken = read(octets)
        offset += taken
        // A copy: the piece is filled again.
        rest = new Uint8Array(octets.subarray(taken))
      } catch (error) {
        failure = error
        rest = new Uint8Array()
        throw error
      }
    },
  }
}

function formatOf(octets: Uint8Array, handler: CaptureHandler): RecordReader {
  const found = pcapRecords(octets, handler.packet) ?? pcapngRecords(octets, handler)
  if (found === undefined) throw new CaptureError(0, 'it begins neither as pcap nor as pcapng')
  return found
}
