import { inGroups } from '@steeple/telecom'
import { CaptureError } from './capture-error.ts'
import { MOST_RECORD, type PacketHandler, type RecordReader } from './capture-format.ts'

/** https://www.tcpdump.org/manpages/pcap-savefile.5.html: with microseconds, with nanoseconds. */
const MICROSECONDS = 0xa1b2c3d4
const NANOSECONDS = 0xa1b23c4d
const FILE_HEADER = 24
const RECORD_HEADER = 16
/** The upper bits of the link type tell of a frame check sequence. */
const LINK_MASK = 0x0fff_ffff

/** Reads `.pcap`; undefined when the octets do not begin as one. */
export function pcapRecords(begin: Uint8Array, packet: PacketHandler): RecordReader | undefined {
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

function viewOf(octets: Uint8Array): DataView {
  return new DataView(octets.buffer, octets.byteOffset, octets.byteLength)
}
