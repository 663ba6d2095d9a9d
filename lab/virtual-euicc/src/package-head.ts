import { TlvError } from '@steeple/sgp22'
import { BPP_ERROR, Refusal } from './codes.ts'

/** Tag and length of an object that need not have come whole. Throws `TlvError`. */
export function headOf(text: Uint8Array): {
  readonly tag: number
  readonly length: number
  readonly octets: number
} {
  const tagOctets = ((text[0] ?? 0) & 0x1f) === 0x1f ? 2 : 1
  const first = text[tagOctets] ?? 0
  const more = first < 0x80 ? 0 : first & 0x7f
  const octets = tagOctets + 1 + more
  if (text.length < octets || more > 3) throw new TlvError(0, 'has no head')
  const tag = tagOctets === 2 ? (text[0] ?? 0) * 256 + (text[1] ?? 0) : (text[0] ?? 0)
  const length =
    more === 0
      ? first
      : Number.parseInt(Buffer.from(text.subarray(tagOctets + 1, octets)).toString('hex'), 16)
  return { tag, length, octets }
}

/** A package that is not made as SCP03t has it. */
export function structure(what: string): Refusal {
  return new Refusal(BPP_ERROR.scp03tStructureError, `the package ${what}`)
}
