/** What is wrong with bytes that should be charging records. Its message never holds any of them. */
export class DamagedFile extends Error {
  override readonly name = 'DamagedFile'
}

/** One element of BER (X.690 clause 8.1) whose content is bytes [from, to). */
export interface Element {
  /** The identifier octets as one number: `0x80`, `0xbf8148`. */
  readonly tag: number
  readonly from: number
  readonly to: number
}

const HIGH_TAG = 0x1f
const MORE = 0x80
/** Tags of charging records have three identifier octets at most: TS 32.298 clause 5.2.1 gives [200]. */
const MOST_TAG_OCTETS = 3
/** Content of 4 GiB; a file is far smaller. */
const MOST_LENGTH_OCTETS = 4

/** The element that begins at `at` and lies before `end`. Throws `DamagedFile`; indefinite lengths are not written. */
export function elementAt(bytes: Buffer, at: number, end: number): Element {
  let next = at
  const octet = (): number => {
    const value = next < end ? bytes[next] : undefined
    if (value === undefined) throw new DamagedFile('an element begins where the record ends')
    next += 1
    return value
  }
  let tag = octet()
  if ((tag & HIGH_TAG) === HIGH_TAG) {
    let part: number
    do {
      part = octet()
      tag = tag * 256 + part
      if (next - at > MOST_TAG_OCTETS) throw new DamagedFile('a tag is longer than any of a charging record')
    } while ((part & MORE) !== 0)
  }
  let length = octet()
  if (length >= MORE) {
    const octets = length - MORE
    if (octets === 0 || octets > MOST_LENGTH_OCTETS) throw new DamagedFile('the length of an element is none')
    length = 0
    for (let index = 0; index < octets; index += 1) length = length * 256 + octet()
  }
  if (length > end - next) throw new DamagedFile('an element ends behind what holds it')
  return { tag, from: next, to: next + length }
}

/** The elements that fill bytes [from, to), in order. */
export function* elementsIn(bytes: Buffer, { from, to }: Pick<Element, 'from' | 'to'>): Generator<Element> {
  for (let at = from; at < to; ) {
    const element = elementAt(bytes, at, to)
    yield element
    at = element.to
  }
}

/** Numbers of charging records have 8 octets at most. */
const MOST_INTEGER_OCTETS = 8

/** An INTEGER or ENUMERATED (X.690 clause 8.3); signed. Throws `DamagedFile` when it is none, or beyond 2^53. */
export function integerOf(bytes: Buffer, { from, to }: Element): number {
  const octets = to - from
  if (octets < 1 || octets > MOST_INTEGER_OCTETS) throw new DamagedFile('a number is none')
  let value = bytes.readInt8(from)
  for (let at = from + 1; at < to; at += 1) value = value * 256 + bytes.readUInt8(at)
  if (!Number.isSafeInteger(value)) throw new DamagedFile('a number is too large')
  return value
}

/** A text of printable ASCII (IA5String, UTF8String as charging records hold them). Throws `DamagedFile`. */
export function textOf(bytes: Buffer, { from, to }: Element): string {
  for (let at = from; at < to; at += 1) {
    const octet = bytes[at] ?? 0
    if (octet < 0x20 || octet > 0x7e) throw new DamagedFile('a text is not printable')
  }
  return bytes.toString('latin1', from, to)
}

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
