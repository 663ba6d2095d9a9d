import { CaptureError } from './capture-error.ts'
import type { CaptureHandler, RecordReader } from './capture-format.ts'
import { pcapRecords } from './pcap-records.ts'
import { pcapngRecords } from './pcapng-records.ts'

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
