import { createCipheriv, createSecretKey } from 'node:crypto'

/** K and OPc of a subscriber, 16 octets each. They stay the caller's, who zeroes them. TS 35.206 §2. */
export interface MilenageKeys {
  readonly k: Uint8Array
  readonly opc: Uint8Array
}

/** f1 and f1*: 8 octets each. */
export interface MilenageMac {
  readonly macA: Uint8Array
  /** For the resynchronisation token AUTS. */
  readonly macS: Uint8Array
}

/** f2 to f5*: RES 8 octets, CK and IK 16, AK and AK* 6. */
export interface MilenageVector {
  readonly res: Uint8Array
  readonly ck: Uint8Array
  readonly ik: Uint8Array
  readonly ak: Uint8Array
  readonly akStar: Uint8Array
}

const BLOCK = 16
/** TS 35.206 §4.1: rotation in bits and the last octet of the constant, for f1, f2/f5, f3, f4, f5*. */
const F1 = { rotation: 64, constant: 0 }
const F2 = { rotation: 0, constant: 1 }
const F3 = { rotation: 32, constant: 2 }
const F4 = { rotation: 64, constant: 4 }
const F5_STAR = { rotation: 96, constant: 8 }

/** OPc = OP ⊕ E_K(OP). Both 16 octets. Throws RangeError for another length. TS 35.206 §4.1. */
export function opcFrom(k: Uint8Array, op: Uint8Array): Uint8Array {
  checkLength('OP', op, BLOCK)
  return xor(encrypt(k, op), op)
}

/** f1 and f1*. RAND 16 octets, SQN 6, AMF 2. Throws RangeError for another length. TS 35.206 §4.1. */
export function milenageF1(
  keys: MilenageKeys,
  rand: Uint8Array,
  sqn: Uint8Array,
  amf: Uint8Array,
): MilenageMac {
  checkLength('SQN', sqn, 6)
  checkLength('AMF', amf, 2)
  const temp = tempOf(keys, rand)
  const in1 = Buffer.concat([sqn, amf, sqn, amf])
  const mixed = xor(rotated(xor(in1, keys.opc), F1.rotation), temp)
  mixed[BLOCK - 1] = (mixed[BLOCK - 1] ?? 0) ^ F1.constant
  const out = xor(encrypt(keys.k, mixed), keys.opc)
  return { macA: out.slice(0, 8), macS: out.slice(8) }
}

/** f2, f3, f4, f5 and f5*. RAND is 16 octets. Throws RangeError for another length. TS 35.206 §4.1. */
export function milenageF2345(keys: MilenageKeys, rand: Uint8Array): MilenageVector {
  const temp = tempOf(keys, rand)
  const out2 = output(keys, temp, F2)
  return {
    res: out2.slice(8),
    ck: output(keys, temp, F3),
    ik: output(keys, temp, F4),
    ak: out2.slice(0, 6),
    akStar: output(keys, temp, F5_STAR).slice(0, 6),
  }
}

/** TEMP = E_K(RAND ⊕ OPc) */
function tempOf({ k, opc }: MilenageKeys, rand: Uint8Array): Uint8Array {
  checkLength('RAND', rand, BLOCK)
  checkLength('OPc', opc, BLOCK)
  return encrypt(k, xor(rand, opc))
}

/** OUTi = E_K(rot(TEMP ⊕ OPc, ri) ⊕ ci) ⊕ OPc */
function output({ k, opc }: MilenageKeys, temp: Uint8Array, { rotation, constant }: typeof F2): Uint8Array {
  const mixed = rotated(xor(temp, opc), rotation)
  mixed[BLOCK - 1] = (mixed[BLOCK - 1] ?? 0) ^ constant
  return xor(encrypt(k, mixed), opc)
}

function encrypt(k: Uint8Array, block: Uint8Array): Uint8Array {
  checkLength('K', k, BLOCK)
  // As octets the same key costs the runtime four times as much.
  const cipher = createCipheriv('aes-128-ecb', createSecretKey(k), null)
  cipher.setAutoPadding(false)
  return new Uint8Array(cipher.update(block))
}

function xor(left: Uint8Array, right: Uint8Array): Uint8Array {
  return left.map((octet, i) => octet ^ (right[i] ?? 0))
}

/** Rotates left by whole octets. */
function rotated(block: Uint8Array, bits: number): Uint8Array {
  const octets = bits / 8
  return Uint8Array.of(...block.subarray(octets), ...block.subarray(0, octets))
}

function checkLength(name: string, octets: Uint8Array, length: number): void {
  if (octets.length !== length)
    throw new RangeError(`${name} has ${octets.length} octets; it must have ${length}`)
}
