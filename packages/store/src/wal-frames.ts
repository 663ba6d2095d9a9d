/** The header of a WAL file, https://www.sqlite.org/fileformat2.html#walformat */
export interface WalHeader {
  readonly pageBytes: number
  /** Both salts, as they stand in every frame of this generation of the file. */
  readonly salts: string
  readonly isLittleEndian: boolean
  readonly isIntact: boolean
  readonly sums: WalSums
}

/** The running checksum: each frame's continues the one before it. */
export type WalSums = readonly [number, number]

/** One frame. */
export interface WalFrame {
  readonly salts: string
  readonly isCommit: boolean
  /** Page of the database that it holds; the first is 1. */
  readonly page: number
  readonly content: Buffer
  /** The checksum that the frame states. */
  readonly stated: WalSums
  /** The checksum of the frame's content, continuing `before`. */
  sumsAfter(before: WalSums): WalSums
}

export const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC_BIG_ENDIAN = 0x377f0683
const MAGIC_LITTLE_ENDIAN = 0x377f0682
const FEWEST_PAGE_BYTES = 512
const MOST_PAGE_BYTES = 65_536

/** The checksum algorithm of the WAL over whole 8-byte steps of `bytes`. */
function sumsOf(bytes: Buffer, from: number, to: number, isLittleEndian: boolean, before: WalSums): WalSums {
  let [s0, s1] = before
  for (let at = from; at < to; at += 8) {
    const x0 = isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
    const x1 = isLittleEndian ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4)
    s0 = (s0 + x0 + s1) >>> 0
    s1 = (s1 + x1 + s0) >>> 0
  }
  return [s0, s1]
}

/**
 * The header that a damaged one must have been: the page size is the database's, the salts are those of the first
 * frame. Undefined when there is no frame.
 */
export function restoredHeader(firstFrame: Buffer, pageBytes: number): WalHeader | undefined {
  if (!isPageSize(pageBytes) || firstFrame.length < FRAME_HEADER_BYTES) return undefined
  const salts = firstFrame.toString('hex', 8, 16)
  return { pageBytes, salts, isLittleEndian: false, isIntact: false, sums: [0, 0] }
}

/** The header, or undefined when the bytes are no WAL file (an empty one, for example). */
export function walHeader(bytes: Buffer): WalHeader | undefined {
  if (bytes.length < WAL_HEADER_BYTES) return undefined
  const magic = bytes.readUInt32BE(0)
  const pageBytes = bytes.readUInt32BE(8)
  if ((magic !== MAGIC_BIG_ENDIAN && magic !== MAGIC_LITTLE_ENDIAN) || !isPageSize(pageBytes))
    return undefined
  const isLittleEndian = magic === MAGIC_LITTLE_ENDIAN
  const sums = sumsOf(bytes, 0, 24, isLittleEndian, [0, 0])
  const isIntact = sums[0] === bytes.readUInt32BE(24) && sums[1] === bytes.readUInt32BE(28)
  return { pageBytes, salts: bytes.toString('hex', 16, 24), isLittleEndian, isIntact, sums }
}

function isPageSize(bytes: number): boolean {
  return bytes >= FEWEST_PAGE_BYTES && bytes <= MOST_PAGE_BYTES && (bytes & (bytes - 1)) === 0
}

/** Bytes of one frame. */
export function frameBytes(header: WalHeader): number {
  return FRAME_HEADER_BYTES + header.pageBytes
}

/** Reads the frame that fills `bytes`. */
export function walFrame(header: WalHeader, bytes: Buffer): WalFrame {
  return {
    salts: bytes.toString('hex', 8, 16),
    isCommit: bytes.readUInt32BE(4) !== 0,
    page: bytes.readUInt32BE(0),
    content: bytes.subarray(FRAME_HEADER_BYTES),
    stated: [bytes.readUInt32BE(16), bytes.readUInt32BE(20)],
    sumsAfter: (before) => {
      const head = sumsOf(bytes, 0, 8, header.isLittleEndian, before)
      return sumsOf(bytes, FRAME_HEADER_BYTES, bytes.length, header.isLittleEndian, head)
    },
  }
}
