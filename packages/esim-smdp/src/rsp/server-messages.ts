import type { KeyObject } from 'node:crypto'
import { sign } from 'node:crypto'
import { tlv } from '@steeple/sgp22'
import { SEQUENCE, SIGNATURE, TID } from './tags.ts'

/** `serverSigned1`. SGP.22 §5.6.1. */
export function serverSigned1(of: {
  readonly tid: Uint8Array
  readonly euiccChallenge: Uint8Array
  readonly serverAddress: string
  readonly serverChallenge: Uint8Array
}): Uint8Array {
  return tlv(
    SEQUENCE,
    tlv(TID, of.tid),
    tlv(0x81, of.euiccChallenge),
    tlv(0x83, Buffer.from(of.serverAddress, 'utf8')),
    tlv(0x84, of.serverChallenge),
  )
}

/** `smdpSigned2`, without a one-time key to use again: each delivery is bound anew. SGP.22 §5.6.2. */
export function smdpSigned2(tid: Uint8Array, isConfirmationNeeded: boolean): Uint8Array {
  return tlv(SEQUENCE, tlv(TID, tid), tlv(0x01, Uint8Array.of(isConfirmationNeeded ? 0xff : 0x00)))
}

/** A signature as the whole `5F37` object: ECDSA with SHA-256 over `parts` one behind the other, `r || s`. BSI TR-03111. */
export function signatureObject(key: KeyObject, ...parts: readonly Uint8Array[]): Uint8Array {
  const text = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  return tlv(SIGNATURE, sign('sha256', text, { key, dsaEncoding: 'ieee-p1363' }))
}
