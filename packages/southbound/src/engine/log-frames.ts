/** What is kept of a container's output, bytes. */
const KEPT = 65_536
/** Bytes in front of a frame: kind, three zeros, length. */
const HEAD = 8

/** The text of a log as the engine sends it: raw for a terminal, else in frames of standard output and error. */
export function textOfLog(bytes: Uint8Array, kept: number = KEPT): string {
  const log = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts = framesOf(log) ?? [log]
  const text = Buffer.concat(parts)
  return text.subarray(Math.max(0, text.length - kept)).toString('utf8')
}

/** The contents of the frames; undefined when it has none. A frame that was cut off counts as far as it goes. */
function framesOf(log: Buffer): readonly Buffer[] | undefined {
  const frames: Buffer[] = []
  for (let at = 0; at < log.length; ) {
    const isFrame = log.length - at >= HEAD && log.readUInt8(at) <= 2 && log.readUIntBE(at + 1, 3) === 0
    if (!isFrame) return undefined
    const length = log.readUInt32BE(at + 4)
    frames.push(log.subarray(at + HEAD, at + HEAD + length))
    at += HEAD + length
  }
  return frames
}
