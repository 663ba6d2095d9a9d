import { ipv4From, prefixFrom } from '../packet/address.ts'
import type { Frame } from '../packet/g-pdu.ts'
import type { TapCounter } from '../upf-tap.ts'

/** Addresses that are told apart. What further ones move is unmatched. */
const MOST_ADDRESSES = 65_536

/** Octets of one row: family, two words of the address, spare; up, down, first, last as doubles. */
const ROW_BYTES = 48
const WORDS = ROW_BYTES / 4
const DOUBLES = ROW_BYTES / 8
const FIRST_ROWS = 256

/** Octets by address, in the form in which they are written. */
export interface Tally {
  readonly size: number
  /** False when there is no room for another address. */
  add(frame: Frame, atMs: number): boolean
  /** Octets that went to the address of a frame, whichever way that one goes. */
  downTo(frame: Frame): number
  /** The rows as octets; good until the next `add`. */
  bytes(): Uint8Array
}

/** Goes on from rows that a tally has written. */
export function createTally(written: Uint8Array = new Uint8Array(), most: number = MOST_ADDRESSES): Tally {
  let rows = new ArrayBuffer(Math.max(written.length, FIRST_ROWS * ROW_BYTES))
  new Uint8Array(rows).set(written)
  let words = new Int32Array(rows)
  let doubles = new Float64Array(rows)
  let size = 0
  const v4 = new Map<number, number>()
  const v6 = new Map<number, Map<number, number>>()
  const index = (isIpv6: boolean, high: number, low: number, row: number): void => {
    size = row + 1
    if (!isIpv6) v4.set(high, row)
    else v6.set(high, (v6.get(high) ?? new Map<number, number>()).set(low, row))
  }
  for (let row = 0; (row + 1) * ROW_BYTES <= written.length; row += 1) {
    const [family, high = 0, low = 0] = words.subarray(row * WORDS, row * WORDS + 3)
    index(family === 6, high, low, row)
  }
  const grow = (): void => {
    const more = new ArrayBuffer(rows.byteLength * 2)
    new Uint8Array(more).set(new Uint8Array(rows))
    rows = more
    words = new Int32Array(rows)
    doubles = new Float64Array(rows)
  }
  const knownRow = ({ isIpv6, high, low }: Frame): number | undefined =>
    isIpv6 ? v6.get(high)?.get(low) : v4.get(high)
  const rowOf = (frame: Frame): number => {
    const { isIpv6, high, low } = frame
    const found = knownRow(frame)
    if (found !== undefined || size === most) return found ?? -1
    if ((size + 1) * ROW_BYTES > rows.byteLength) grow()
    words.set([isIpv6 ? 6 : 4, high, low, 0], size * WORDS)
    index(isIpv6, high, low, size)
    return size - 1
  }
  return {
    get size() {
      return size
    },
    add: (frame, atMs) => {
      const row = rowOf(frame)
      if (row < 0) return false
      const at = row * DOUBLES + 2
      const place = frame.isUp ? at : at + 1
      doubles[place] = (doubles[place] ?? 0) + frame.octets
      // The first time the row is empty.
      if (doubles[at + 2] === 0) doubles[at + 2] = atMs
      doubles[at + 3] = Math.max(doubles[at + 3] ?? 0, atMs)
      return true
    },
    downTo: (frame) => {
      const row = knownRow(frame)
      return row === undefined ? 0 : (doubles[row * DOUBLES + 3] ?? 0)
    },
    bytes: () => new Uint8Array(rows, 0, size * ROW_BYTES),
  }
}

/** What rows say that a tally has written. */
export function* countersFrom(bytes: Uint8Array): Iterable<TapCounter> {
  // A copy begins where its buffer begins, as the views need.
  const { buffer } = new Uint8Array(bytes)
  const words = new Uint32Array(buffer)
  const doubles = new Float64Array(buffer)
  for (let row = 0; (row + 1) * ROW_BYTES <= bytes.length; row += 1) {
    const [family = 4, high = 0, low = 0] = words.subarray(row * WORDS, row * WORDS + 3)
    const [upBytes = 0, downBytes = 0, firstMs = 0, lastMs = 0] = doubles.subarray(
      row * DOUBLES + 2,
      (row + 1) * DOUBLES,
    )
    const address = family === 6 ? prefixFrom(high, low) : ipv4From(high)
    yield { address, upBytes, downBytes, firstMs, lastMs }
  }
}
