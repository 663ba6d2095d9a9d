import { tlv } from '@steeple/sgp22'
import { SEQUENCE, TID } from './members.ts'

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
