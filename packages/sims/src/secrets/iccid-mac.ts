import { createHmac, type KeyObject } from 'node:crypto'

/** Digits at the end of an ICCID that are stored in clear. */
export const ICCID_END = 4

/** Octets that say under which key a keyed hash is, at its beginning. */
const TAG_OCTETS = 2
/** With 64 bits behind the tag no two of a million blocks have the same hash but by a chance of one in 37 million. */
const BLOCK_MAC_OCTETS = 10
/** Of the keyed hash of a whole ICCID, which is how rows were indexed up to 0.2.0. */
const WHOLE_MAC_OCTETS = 16
/** Octets of a bound between hashes: the tag and one more. */
const BOUND_OCTETS = 3
const BOUNDS = 256 ** BOUND_OCTETS
const BOUNDS_OF_TAG = 256
/** Behind every keyed hash. */
const BEHIND_ALL = new Uint8Array(WHOLE_MAC_OCTETS + 1).fill(0xff)

/** Blocks whose hashes are remembered. */
const MOST_BLOCKS = 256

/** Gives the keyed hash of an ICCID. */
export interface IccidMac {
  /** Leave it as it is: others of its block get the same octets. */
  (iccid: string): Uint8Array
  /** With what every one of its hashes begins. */
  readonly tag: number
  /** Whether that is one of its hashes. */
  isUnder(mac: Uint8Array | null): boolean
}

/** Keyed hashes from `from` up to but without `to`. */
export interface MacRange {
  readonly from: Uint8Array
  readonly to: Uint8Array
}

/**
 * HMAC-SHA-256 of an ICCID without its last four digits: cards that were made one after the other share it, so those of a
 * delivery stand beside each other in an index. With the last four digits it is the one of the whole ICCID.
 */
export function blockMac(key: KeyObject): IccidMac {
  const { octetsOf, ...rest } = macUnder(key, BLOCK_MAC_OCTETS)
  // An import brings those of few blocks in any order.
  const known = new Map<string, Uint8Array>()
  const mac = (iccid: string): Uint8Array => {
    const block = iccid.slice(0, -ICCID_END)
    const before = known.get(block)
    if (before !== undefined) return before
    if (known.size >= MOST_BLOCKS) known.clear()
    const octets = octetsOf(block)
    known.set(block, octets)
    return octets
  }
  return Object.assign(mac, rest)
}

/** HMAC-SHA-256 of a whole ICCID. */
export function wholeMac(key: KeyObject): IccidMac {
  const { octetsOf, ...rest } = macUnder(key, WHOLE_MAC_OCTETS)
  return Object.assign((iccid: string) => octetsOf(iccid), rest)
}

interface Mac extends Pick<IccidMac, 'tag' | 'isUnder'> {
  octetsOf(text: string): Uint8Array
}

function macUnder(key: KeyObject, octets: number): Mac {
  const mark = createHmac('sha256', key).update('tag').digest().subarray(0, TAG_OCTETS)
  const octetsOf = (text: string): Uint8Array => {
    const digest = createHmac('sha256', key).update(text).digest()
    digest.set(mark)
    return digest.subarray(0, octets)
  }
  const isUnder = (one: Uint8Array | null): boolean =>
    one !== null && one.length === octets && mark.every((octet, i) => octet === one[i])
  return { octetsOf, tag: mark.readUInt16BE(), isUnder }
}

/** All hashes with a tag, in `pieces` of about as many each: a power of two, 256 at most. */
export function rangesUnder(tag: number, pieces: number): readonly MacRange[] {
  const first = tag * BOUNDS_OF_TAG
  const step = BOUNDS_OF_TAG / pieces
  return Array.from({ length: pieces }, (_, i) => rangeOf(first + i * step, first + (i + 1) * step))
}

/** All hashes that have none of these tags. */
export function rangesBeside(tags: readonly number[]): readonly MacRange[] {
  const ranges: MacRange[] = []
  let from = 0
  for (const tag of [...tags].sort((a, b) => a - b)) {
    if (tag * BOUNDS_OF_TAG > from) ranges.push(rangeOf(from, tag * BOUNDS_OF_TAG))
    from = (tag + 1) * BOUNDS_OF_TAG
  }
  return from < BOUNDS ? [...ranges, rangeOf(from, BOUNDS)] : ranges
}

/** That hash alone. */
export function rangeOfOne(mac: Uint8Array): MacRange {
  return { from: mac, to: Uint8Array.of(...mac, 0) }
}

function rangeOf(from: number, to: number): MacRange {
  return { from: boundOf(from), to: boundOf(to) }
}

function boundOf(value: number): Uint8Array {
  if (value >= BOUNDS) return BEHIND_ALL
  const octets = Buffer.alloc(BOUND_OCTETS)
  octets.writeUIntBE(value, 0, BOUND_OCTETS)
  return octets
}
