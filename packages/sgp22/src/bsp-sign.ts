import { type KeyObject, sign, verify } from 'node:crypto'
import { readOne, tlv } from './tlv.ts'

/** Tag of a signature. SGP.22 §2.6.7.2. */
const SIGNATURE = 0x5f37
const OCTETS = 64
const HALF = 32
const INTEGER = 0x02
const SEQUENCE = 0x30

/*
 * Node takes and gives DER here although it knows the plain form too: asking it for that takes an object of options, and
 * looking through one costs as much as the signature (25 µs with Node 24).
 */

/** ECDSA with SHA-256 over `parts` one after the other: the object `5F37 40 r s`. BSI TR-03111 §5.2.1. */
export function signP1363(key: KeyObject, ...parts: readonly Uint8Array[]): Uint8Array {
  return tlv(SIGNATURE, plainFromDer(sign('sha256', joined(parts), key)))
}

/** Whether `signature`, a whole `5F37` object, is of `key` over `parts` one after the other. Never throws for what it is given. */
export function verifyP1363(key: KeyObject, signature: Uint8Array, ...parts: readonly Uint8Array[]): boolean {
  try {
    const { tag, value } = readOne(signature)
    if (tag !== SIGNATURE || value.length !== OCTETS) return false
    return verify('sha256', joined(parts), key, derFromPlain(value))
  } catch {
    return false
  }
}

/** `r || s`, 32 octets each, of a `SEQUENCE { INTEGER r, INTEGER s }`. RFC 3279 §2.2.3. */
function plainFromDer(der: Uint8Array): Uint8Array {
  const plain = new Uint8Array(OCTETS)
  for (const [place, { value }] of readOne(der).children().entries()) {
    const digits = value.length > HALF ? value.subarray(value.length - HALF) : value
    plain.set(digits, (place + 1) * HALF - digits.length)
  }
  return plain
}

function derFromPlain(plain: Uint8Array): Uint8Array {
  return tlv(SEQUENCE, integer(plain.subarray(0, HALF)), integer(plain.subarray(HALF)))
}

/** A non-negative INTEGER in its shortest form. X.690 §8.3. */
function integer(octets: Uint8Array): Uint8Array {
  let from = 0
  while (from < octets.length - 1 && octets[from] === 0) from += 1
  const digits = octets.subarray(from)
  return (digits[0] ?? 0) < 0x80 ? tlv(INTEGER, digits) : tlv(INTEGER, ZERO, digits)
}

const ZERO = new Uint8Array(1)

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts)
}
