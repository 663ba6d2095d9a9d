import { DamagedFile, elementAt } from './ber.ts'

/** TS 32.297 clause 6.1.1: header without routeing filter and private extension; length of both included as 0. */
const LEAST_HEADER = 52
/** TS 32.297 clause 6.1.2: two octets of length, two of what the record is. */
const RECORD_HEADER = 4
/** Release identifier 7: one more octet follows that says which. */
const MORE_RELEASES = 7
/** What that octet holds in the files of CHF 1.1.0 and before (releases 3.4 and 4.0), which wrote it always. No element begins so. */
const NO_RELEASE = 0
/** The length of a record in its header has 16 bits; that of its element has not. */
const LENGTHS = 0x1_0000

const OFFSET = { fileLength: 0, headerLength: 4, records: 18 } as const

/** Whether the file is whole as far as its header tells: as long as it says, and long enough for a header. */
export function isWhole(bytes: Buffer): boolean {
  return bytes.length >= LEAST_HEADER && bytes.readUInt32BE(OFFSET.fileLength) === bytes.length
}

/**
 * The bodies of the records in a file of charging records (TS 32.297 clause 6), in order. Throws `DamagedFile`.
 *
 * The CHF does not look at the size of a record that it closes: one of 64 KiB and more has a header whose length has
 * overflowed. Its element tells the truth.
 */
export function* recordsIn(bytes: Buffer): Generator<Buffer> {
  if (!isWhole(bytes)) throw new DamagedFile('the file is not as long as its header says')
  const headerLength = bytes.readUInt32BE(OFFSET.headerLength)
  if (headerLength < LEAST_HEADER || headerLength > bytes.length)
    throw new DamagedFile('the header is not as long as it says')
  const count = bytes.readUInt32BE(OFFSET.records)
  let at = headerLength
  for (let index = 0; index < count; index += 1) {
    if (at + RECORD_HEADER > bytes.length) throw new DamagedFile('the file has fewer records than it says')
    const length = bytes.readUInt16BE(at)
    const release = bytes.readUInt8(at + 2) >> 5
    at += RECORD_HEADER
    if (release === MORE_RELEASES || bytes[at] === NO_RELEASE) at += 1
    const { to } = elementAt(bytes, at, bytes.length)
    if ((to - at) % LENGTHS !== length) throw new DamagedFile('a record is not as long as its header says')
    yield bytes.subarray(at, to)
    at = to
  }
  if (at !== bytes.length) throw new DamagedFile('the file goes on behind its last record')
}
