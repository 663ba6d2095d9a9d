/** A packet as large as any tool captures, and what a record has around it. */
export const MOST_RECORD: number = 1024 * 1024
/** Told of each packet: its octets are `octets[from, end)`, good until it returns. */
export type PacketHandler = (
  link: number,
  atMs: number,
  octets: Uint8Array,
  from: number,
  end: number,
) => void

/** What a format reads. */
export interface CaptureHandler {
  readonly packet: PacketHandler
  /** Told how many packets the one who captured says that he has lost so far. */
  readonly dropped: (packets: number) => void
}

/** One format: takes whole records from the beginning of what is given. */
export interface RecordReader {
  /** How many octets it has taken; 0: it needs more. `offset`: where in the capture they begin. Throws `CaptureError`. */
  take(octets: Uint8Array, from: number, end: number, offset: number): number
}

/** Octets to read numbers from. */
export function viewOf(octets: Uint8Array): DataView {
  return new DataView(octets.buffer, octets.byteOffset, octets.byteLength)
}
