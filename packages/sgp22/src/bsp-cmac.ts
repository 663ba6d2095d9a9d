import { createCipheriv, createSecretKey } from 'node:crypto'

/** Octets of an AES block. FIPS 197. */
export const BLOCK = 16
const ZERO = new Uint8Array(BLOCK)
// Keys go in as key objects: Node takes four times as long to see that octets are none (15 µs with Node 24).
/** Constant of GF(2^128). NIST SP 800-38B §5.3. */
const R128 = 0x87

/**
 * AES-CMAC under one key: each call gives the 16 octets of a message, the first `length` octets of `room`, which has a block more
 * and is overwritten. NIST SP 800-38B §6.2, RFC 4493.
 */
export type Cmac = (room: Uint8Array, length: number) => Uint8Array

/** AES-CMAC under `key`, 16 octets. */
export function cmac(key: Uint8Array): Cmac {
  const encrypt = cbc(key)
  const whole = doubled(encrypt(ZERO, new Uint8Array(BLOCK)))
  const padded = doubled(whole)
  return (room, length) => {
    const rest = length % BLOCK
    const isWhole = rest === 0 && length > 0
    const text = room.subarray(0, isWhole ? length : length + BLOCK - rest)
    if (!isWhole) {
      text.fill(0, length)
      text[length] = 0x80
    }
    const last = text.length - BLOCK
    mix(text, last, isWhole ? whole : padded)
    return new Uint8Array(encrypt(ZERO, text).subarray(last))
  }
}

/**
 * AES-128-CBC without padding under one key: whole blocks of `text`, which is overwritten, with an initial vector each. One
 * cipher goes on and on, for making one costs ten times what a segment does: what it would chain to is mixed out again.
 * NIST SP 800-38A §6.2.
 */
export function cbc(key: Uint8Array): (vector: Uint8Array, text: Uint8Array) => Uint8Array {
  const cipher = createCipheriv('aes-128-cbc', createSecretKey(key), ZERO).setAutoPadding(false)
  let before: Uint8Array = ZERO
  return (vector, text) => {
    mix(text, 0, before)
    mix(text, 0, vector)
    const out = cipher.update(text)
    before = new Uint8Array(out.subarray(-BLOCK))
    return out
  }
}

/** Single blocks under AES-128. NIST SP 800-38A §6.1. */
export function blocks(key: Uint8Array): (block: Uint8Array) => Uint8Array {
  const cipher = createCipheriv('aes-128-ecb', createSecretKey(key), null).setAutoPadding(false)
  return (block) => cipher.update(block)
}

function mix(text: Uint8Array, at: number, block: Uint8Array): void {
  for (let i = 0; i < BLOCK; i++) text[at + i] = (text[at + i] ?? 0) ^ (block[i] ?? 0)
}

function doubled(block: Uint8Array): Uint8Array {
  const twice = new Uint8Array(BLOCK)
  for (let i = 0; i < BLOCK; i++) twice[i] = ((block[i] ?? 0) << 1) | ((block[i + 1] ?? 0) >> 7)
  if ((block[0] ?? 0) >= 0x80) twice[BLOCK - 1] = (twice[BLOCK - 1] ?? 0) ^ R128
  return twice
}
