import { closeSync, openSync, renameSync, writeSync } from 'node:fs'
import { ipv4Header } from './inner-packet.ts'
import type { PathAddress } from './path.ts'

/** A file to which frames are written as tcpdump would: for a counter that may not look at an interface. */
export interface Capture {
  /** In the file before the event loop turns again. */
  add(atUs: number, from: PathAddress, to: PathAddress, frame: Uint8Array): void
  close(): void
}

/** Octets of each packet that are kept: enough for every header. */
const SNAPLEN = 128
/** https://www.tcpdump.org/linktypes.html: packets begin with their IP header. */
const LINKTYPE_RAW = 101
const MAGIC = 0xa1b2c3d4
const RECORD_HEADER = 16
const UDP_HEADER = 8
const PROTOCOL_UDP = 17
/** A file that is so large gives its name to a new one. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * Begins a capture at `path`; one that is there gives its name to it. Throws when it cannot be written; `failed` is told
 * when that comes later, and nothing more is captured.
 */
export function openCapture(path: string, failed: (error: unknown) => void): Capture {
  let file = begun(path)
  let size = 0
  let waiting: Buffer[] = []
  let hasEnded = false
  const write = (): void => {
    const records = Buffer.concat(waiting)
    waiting = []
    if (size > MOST_BYTES) {
      closeSync(file)
      file = begun(path)
      size = 0
    }
    writeAll(file, records)
    size += records.length
  }
  const flush = (): void => {
    if (hasEnded || waiting.length === 0) return
    try {
      write()
    } catch (error) {
      hasEnded = true
      failed(error)
    }
  }
  return {
    add: (atUs, from, to, frame) => {
      if (hasEnded) return
      if (waiting.length === 0) setImmediate(flush)
      waiting.push(record(atUs, from, to, frame))
    },
    close: () => {
      flush()
      hasEnded = true
      closeSync(file)
    },
  }
}

/** A capture with its head and nothing else under its name, at one moment. */
function begun(path: string): number {
  const file = openSync(`${path}.new`, 'w', 0o600)
  const head = Buffer.alloc(24)
  head.writeUInt32LE(MAGIC, 0)
  head.writeUInt16LE(2, 4)
  head.writeUInt16LE(4, 6)
  head.writeUInt32LE(SNAPLEN, 16)
  head.writeUInt32LE(LINKTYPE_RAW, 20)
  writeAll(file, head)
  renameSync(`${path}.new`, path)
  return file
}

function record(atUs: number, from: PathAddress, to: PathAddress, frame: Uint8Array): Buffer {
  const ip = ipv4Header({ from: from.host, to: to.host }, UDP_HEADER + frame.length, PROTOCOL_UDP)
  const kept = Math.min(SNAPLEN, ip.length + UDP_HEADER + frame.length)
  const bytes = Buffer.alloc(RECORD_HEADER + kept)
  bytes.writeUInt32LE(Math.floor(atUs / 1e6), 0)
  bytes.writeUInt32LE(Math.floor(atUs % 1e6), 4)
  bytes.writeUInt32LE(kept, 8)
  bytes.writeUInt32LE(ip.length + UDP_HEADER + frame.length, 12)
  bytes.set(ip, RECORD_HEADER)
  const udp = RECORD_HEADER + ip.length
  bytes.writeUInt16BE(from.port, udp)
  bytes.writeUInt16BE(to.port, udp + 2)
  // Without a checksum, which IPv4 allows.
  bytes.writeUInt16BE(UDP_HEADER + frame.length, udp + 4)
  bytes.set(frame.subarray(0, kept - ip.length - UDP_HEADER), udp + UDP_HEADER)
  return bytes
}

function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}
