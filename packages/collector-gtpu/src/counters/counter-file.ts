import { readSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import type { TapStats } from '../upf-tap.ts'
import type { Tally } from './tally.ts'

/** What a child says of itself beside its counters. Numbers of packets, ms since the epoch. */
export interface CounterHeader extends TapStats {
  /** Counts the writes, over all children that went on with each other's counters. */
  readonly writes: number
  readonly writtenMs: number
  readonly sinceMs: number
  /** What the interface had carried at the time of writing. */
  readonly carried: number
  /** Whether a capture was read to its present end. */
  readonly isAtEnd: boolean
}

/** What is in the files of a child. */
export interface CounterReading {
  readonly generation: string
  readonly header: CounterHeader
  /** As a tally writes them. */
  readonly rows: Uint8Array
}

const MAGIC = 0x53544150
const FIELDS = [
  'writes',
  'writtenMs',
  'sinceMs',
  'received',
  'dropped',
  'malformed',
  'unmatched',
  'foreign',
  'missed',
  'carried',
] as const
/** Octets of the generation's name, ASCII. */
const NAME_BYTES = 48
const NAME_AT = 16
/** Two fields that came later, where files had zeros before. */
const REFUSED_AT = NAME_AT + NAME_BYTES
const FIELDS_AT = REFUSED_AT + 16
const END_AT = FIELDS_AT + 8 * FIELDS.length
const HEADER_BYTES = END_AT + 8
/** Far beyond what the most addresses need. */
const MOST_BYTES = 16 * 1024 * 1024

/**
 * Writes to two files by turns, so that a writer that dies in the middle of one leaves the other whole: magic, length of
 * the rows, checksum of all that follows, then the rest of the header and the rows.
 */
export function writeCounters(
  files: readonly [number, number],
  generation: string,
  header: CounterHeader,
  tally: Tally,
): void {
  const rows = tally.bytes()
  const bytes = Buffer.alloc(HEADER_BYTES + rows.length)
  bytes.writeUInt32LE(MAGIC, 0)
  bytes.writeUInt32LE(rows.length, 4)
  bytes.write(generation, NAME_AT, NAME_BYTES, 'latin1')
  bytes.writeDoubleLE(header.refused, REFUSED_AT)
  bytes.writeDoubleLE(header.refusedBytes, REFUSED_AT + 8)
  for (const [i, field] of FIELDS.entries()) bytes.writeDoubleLE(header[field], FIELDS_AT + i * 8)
  bytes.writeDoubleLE(header.isAtEnd ? 1 : 0, END_AT)
  bytes.set(rows, HEADER_BYTES)
  bytes.writeUInt32LE(crc32(bytes.subarray(NAME_AT)), 8)
  const file = files[header.writes % 2 === 0 ? 0 : 1]
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, at)
}

/** The later of the two that is whole; undefined when none is: the child has not come so far. */
export function readCounters(files: readonly [number, number]): CounterReading | undefined {
  const found = files.map((file) => readOne(file)).filter((one) => one !== undefined)
  return found.toSorted((a, b) => b.header.writes - a.header.writes)[0]
}

/** The number of the last write, told by the headers alone: a sign of life. */
export function readWrites(files: readonly [number, number]): number | undefined {
  const heads = files.map((file) => {
    const head = Buffer.alloc(HEADER_BYTES)
    return readWhole(file, head, 0) === HEADER_BYTES ? head : undefined
  })
  const found = heads.filter((head) => head?.readUInt32LE(0) === MAGIC)
  return found.length === 0
    ? undefined
    : Math.max(...found.map((head) => head?.readDoubleLE(FIELDS_AT) ?? -1))
}

function readOne(file: number): CounterReading | undefined {
  const head = Buffer.alloc(HEADER_BYTES)
  if (readWhole(file, head, 0) < HEADER_BYTES || head.readUInt32LE(0) !== MAGIC) return undefined
  const length = head.readUInt32LE(4)
  if (length > MOST_BYTES) return undefined
  const bytes = Buffer.alloc(HEADER_BYTES + length)
  if (readWhole(file, bytes, 0) < bytes.length) return undefined
  // Of a write that was under way, or that another has begun to replace meanwhile.
  if (crc32(bytes.subarray(NAME_AT)) !== bytes.readUInt32LE(8) || bytes.readUInt32LE(4) !== length)
    return undefined
  const fields = FIELDS.map((field, i) => [field, bytes.readDoubleLE(FIELDS_AT + i * 8)] as const)
  const own = {
    ...Object.fromEntries(fields),
    refused: bytes.readDoubleLE(REFUSED_AT),
    refusedBytes: bytes.readDoubleLE(REFUSED_AT + 8),
    isAtEnd: bytes.readDoubleLE(END_AT) === 1,
  }
  return {
    generation: bytes.toString('latin1', NAME_AT, NAME_AT + NAME_BYTES).replace(/\0+$/, ''),
    // All of its fields are among them.
    header: own as CounterHeader,
    rows: bytes.subarray(HEADER_BYTES),
  }
}

function readWhole(file: number, into: Buffer, from: number): number {
  let at = 0
  while (at < into.length) {
    const read = readSync(file, into, at, into.length - at, from + at)
    if (read === 0) break
    at += read
  }
  return at
}
