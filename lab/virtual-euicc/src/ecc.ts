import { createECDH, createHash, type KeyObject, sign, verify } from 'node:crypto'
import type { RspCurve } from '@steeple/sgp22'

/** A key pair for one session. */
export interface OneTimeKey {
  readonly curve: RspCurve
  /** The point, uncompressed: 65 octets that begin with 04. */
  readonly point: Uint8Array
  /** The X coordinate that this key and another point agree on. Throws for what is no point of the curve. */
  agree(point: Uint8Array): Uint8Array
}

const ECDH_NAME = { 'P-256': 'prime256v1', brainpoolP256r1: 'brainpoolP256r1' } as const
/** Octets of a signature r||s on a curve of 256 bits. BSI TR-03111 §5.2.1. */
const SIGNATURE_OCTETS = 64

export function oneTimeKey(curve: RspCurve, secret?: Uint8Array): OneTimeKey {
  const pair = createECDH(ECDH_NAME[curve])
  if (secret === undefined) pair.generateKeys()
  else pair.setPrivateKey(secret)
  return {
    curve,
    point: Uint8Array.from(pair.getPublicKey()),
    agree: (point) => Uint8Array.from(pair.computeSecret(point)),
  }
}

/** Whether `signature` (r||s) is one of `key` over `text`. SGP.22 §2.6.7.2. */
export function isSignedBy(key: KeyObject, text: Uint8Array, signature: Uint8Array | undefined): boolean {
  if (signature?.length !== SIGNATURE_OCTETS) return false
  return verify('sha256', text, { key, dsaEncoding: 'ieee-p1363' }, signature)
}

export function signatureOf(key: KeyObject, text: Uint8Array): Uint8Array {
  return Uint8Array.from(sign('sha256', text, { key, dsaEncoding: 'ieee-p1363' }))
}

/** Key material out of a shared secret. BSI TR-03111 §4.3.3 (X9.63) with SHA-256. */
export function keyMaterial(secret: Uint8Array, sharedInfo: Uint8Array, octets: number): Uint8Array {
  const found: Buffer[] = []
  for (let counter = 1; found.length * 32 < octets; counter++) {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    found.push(createHash('sha256').update(secret).update(count).update(sharedInfo).digest())
  }
  return Uint8Array.from(Buffer.concat(found).subarray(0, octets))
}
