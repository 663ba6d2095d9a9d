import { createECDH, createHash, type ECDH } from 'node:crypto'
import { BspError } from './bsp-error.ts'

/** The curves of SGP.22 §2.6.7.2 that this speaks; ECKA uses the one of CERT.DPpb. */
export type RspCurve = 'P-256' | 'brainpoolP256r1'
const NODE_NAMES: Readonly<Record<RspCurve, string>> = {
  'P-256': 'prime256v1',
  brainpoolP256r1: 'brainpoolP256r1',
}

/** Keys of a BSP instance, 16 octets each. SGP.22 Annex G. */
export interface BspKeys {
  readonly initialMac: Uint8Array
  readonly enc: Uint8Array
  readonly mac: Uint8Array
}

/** A key pair for one key agreement. The private key stays inside. */
export interface OneTimeKey {
  /** `04`, x, y: 65 octets. */
  readonly publicPoint: Uint8Array
  /**
   * The shared secret (32 octets, the x coordinate) with `peer`, 65 octets; whoever asks wipes it. Once: the private
   * key is dropped. Throws `BspError` for a point that is not on the curve.
   */
  agree(peer: Uint8Array): Uint8Array
}

/** AES with 128 bit: key type and key length in a control reference. SGP.22 §5.5.1. */
export const KEY_TYPE = 0x88
/** See `KEY_TYPE`. */
export const KEY_LENGTH = 0x10
const POINT = 65
const SECRET = 32

/** Draws a one-time key; `privateKey` (32 octets) instead of a random one is for known answers. BSI TR-03111 §4.1.3. */
export function oneTimeKey(curve: RspCurve, privateKey?: Uint8Array): OneTimeKey {
  let pair: ECDH | undefined = createECDH(NODE_NAMES[curve])
  if (privateKey === undefined) pair.generateKeys()
  else pair.setPrivateKey(privateKey)
  return {
    publicPoint: new Uint8Array(pair.getPublicKey()),
    agree: (peer) => {
      const own = pair
      pair = undefined
      if (own === undefined) throw new BspError('the one-time key was used already')
      return secretOf(own, peer)
    },
  }
}

/** `length` octets out of a shared secret. ANSI X9.63 §5.6.3 with SHA-256, BSI TR-03111 §4.3.3. */
export function x963(secret: Uint8Array, sharedInfo: Uint8Array, length: number): Uint8Array {
  const octets = new Uint8Array(Math.ceil(length / SECRET) * SECRET)
  const counter = new Uint8Array(4)
  for (let block = 1; (block - 1) * SECRET < length; block++) {
    new DataView(counter.buffer).setUint32(0, block)
    const digest = createHash('sha256').update(secret).update(counter).update(sharedInfo).digest()
    octets.set(digest, (block - 1) * SECRET)
    digest.fill(0)
  }
  return octets.subarray(0, length)
}

/**
 * Keys of a session: of the shared secret, the host id (1 to 16 octets) and the EID (32 digits). SGP.22 Annex G:
 * SharedInfo is key type, key length, host id and EID with their lengths.
 */
export function sessionKeys(secret: Uint8Array, hostId: Uint8Array, eid: string): BspKeys {
  const card = eidOctets(eid)
  const info = Uint8Array.of(KEY_TYPE, KEY_LENGTH, hostId.length, ...hostId, card.length, ...card)
  const octets = x963(secret, info, 48)
  return { initialMac: octets.subarray(0, 16), enc: octets.subarray(16, 32), mac: octets.subarray(32, 48) }
}

export function wipeKeys(keys: BspKeys): void {
  for (const key of [keys.initialMac, keys.enc, keys.mac]) key.fill(0)
}

/** The 16 octets of an EID of 32 digits, in their order (tag `5A`). Throws `BspError`. SGP.02 §2.2.2. */
export function eidOctets(eid: string): Uint8Array {
  if (!/^\d{32}$/.test(eid)) throw new BspError('an EID has 32 digits')
  return new Uint8Array(Buffer.from(eid, 'hex'))
}

function secretOf(own: ECDH, peer: Uint8Array): Uint8Array {
  if (peer.length !== POINT || peer[0] !== 0x04)
    throw new BspError('a public key is 04 and two coordinates of 32 octets')
  try {
    return new Uint8Array(own.computeSecret(peer))
  } catch (cause) {
    throw new BspError('the public key is not on the curve', { cause })
  }
}
