import { type KeyObject, sign, verify } from 'node:crypto'
import { readOne, tlv } from './tlv.ts'

/** Tag of a signature. SGP.22 §2.6.7.2. */
export const SIGNATURE = 0x5f37
const OCTETS = 64

/** ECDSA with SHA-256 over `parts` one after the other: the object `5F37 40 r s`. BSI TR-03111 §5.2.1. */
export function signP1363(key: KeyObject, ...parts: readonly Uint8Array[]): Uint8Array {
  return tlv(SIGNATURE, sign('sha256', Buffer.concat(parts), { key, dsaEncoding: 'ieee-p1363' }))
}

/** Whether `signature`, a whole `5F37` object, is of `key` over `parts` one after the other. Never throws for what it is given. */
export function verifyP1363(key: KeyObject, signature: Uint8Array, ...parts: readonly Uint8Array[]): boolean {
  try {
    const { tag, value } = readOne(signature)
    if (tag !== SIGNATURE || value.length !== OCTETS) return false
    return verify('sha256', Buffer.concat(parts), { key, dsaEncoding: 'ieee-p1363' }, value)
  } catch {
    return false
  }
}
