import { type MilenageKeys, milenageF1, milenageF2345 } from '@steeple/telecom'

/** SQN has 48 bits. TS 33.102 §6.3.2. */
export const SQN_MAX: bigint = (1n << 48n) - 1n

/** What an HSS gives an MME for one authentication. TS 33.401 §6.1.2. */
export interface AuthVector {
  readonly rand: Uint8Array
  readonly autn: Uint8Array
  readonly xres: Uint8Array
}

/** What a phone says of an SQN that it does not take. TS 33.102 §6.3.5. */
export interface Resync {
  readonly rand: Uint8Array
  /** (SQN_MS ⊕ AK*) ‖ MAC-S, 14 octets. */
  readonly auts: Uint8Array
}

/** RAND, AUTN = (SQN ⊕ AK) ‖ AMF ‖ MAC-A, and XRES. TS 33.102 §6.3.2. */
export function authVector(keys: MilenageKeys, amf: Uint8Array, sqn: bigint, rand: Uint8Array): AuthVector {
  const { res, ak } = milenageF2345(keys, rand)
  const { macA } = milenageF1(keys, rand, sqnOctets(sqn), amf)
  return { rand, autn: Buffer.concat([xored(sqnOctets(sqn), ak), amf, macA]), xres: res }
}

/** The SQN that a phone holds, from its AUTS; undefined when the phone's MAC-S is wrong. TS 33.102 §6.3.5. */
export function resyncedSqn(keys: MilenageKeys, { rand, auts }: Resync): bigint | undefined {
  const { akStar } = milenageF2345(keys, rand)
  const sqn = xored(auts.subarray(0, 6), akStar)
  const { macS } = milenageF1(keys, rand, sqn, RESYNC_AMF)
  return Buffer.from(macS).equals(auts.subarray(6)) ? sqnFrom(sqn) : undefined
}

/** AMF in MAC-S. TS 33.102 §6.3.3. */
export const RESYNC_AMF: Uint8Array = Uint8Array.of(0, 0)

/** The 6 octets of an SQN. */
export function sqnOctets(sqn: bigint): Uint8Array {
  const octets = Buffer.alloc(8)
  octets.writeBigUInt64BE(sqn & SQN_MAX)
  return octets.subarray(2)
}

/** The SQN of 6 octets. */
export function sqnFrom(octets: Uint8Array): bigint {
  return Buffer.concat([Buffer.alloc(2), octets]).readBigUInt64BE()
}

/** Octet by octet, as long as the left one. */
export function xored(left: Uint8Array, right: Uint8Array): Uint8Array {
  return left.map((octet, i) => octet ^ (right[i] ?? 0))
}
