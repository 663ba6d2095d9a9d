import { createHmac, type KeyObject } from 'node:crypto'

/** Digits at the end of an ICCID that are stored in clear. */
export const ICCID_END = 4

/** Octets that say under which key a keyed hash is, at its beginning. */
const TAG_OCTETS = 2
/** With 64 bits behind the tag no two of a million blocks have the same hash but by a chance of one in 37 million. */
const BLOCK_MAC_OCTETS = 10
/** Of the keyed hash of a whole ICCID, which is how rows were indexed up to 0.2.0. */
const WHOLE_MAC_OCTETS = 16

/** Blocks whose hashes are remembered. */
const MOST_BLOCKS = 256

/** Gives the keyed hash of an ICCID. */
export interface IccidMac {
  /** Leave it as it is: others of its block get the same octets. */
  (iccid: string): Uint8Array
  /** All of its hashes. */
  readonly range: MacRange
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

interface Mac extends Pick<IccidMac, 'range' | 'isUnder'> {
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
  // No hash is as long as the bound.
  const range = { from: mark, to: Buffer.concat([mark, new Uint8Array(WHOLE_MAC_OCTETS).fill(0xff)]) }
  return { octetsOf, range, isUnder }
}
