import { createCipheriv } from 'node:crypto'

/** Octets of an AES block. FIPS 197. */
export const BLOCK = 16
const ZERO = new Uint8Array(BLOCK)
/** Constant of GF(2^128). NIST SP 800-38B §5.3. */
const R128 = 0x87

/** AES-CMAC under one key: each call gives the 16 octets of a message. NIST SP 800-38B §6.2, RFC 4493. */
export type Cmac = (message: Uint8Array) => Uint8Array

/** AES-CMAC under `key`, 16 octets. `message` is overwritten by the call: give it a text of its own. */
export function cmac(key: Uint8Array): Cmac {
  const whole = doubled(encryptBlock(key, ZERO))
  const padded = doubled(whole)
  return (message) => {
    const rest = message.length % BLOCK
    const isWhole = rest === 0 && message.length > 0
    const text = isWhole ? message : extended(message, BLOCK - rest)
    const mask = isWhole ? whole : padded
    const last = text.length - BLOCK
    for (let i = 0; i < BLOCK; i++) text[last + i] = (text[last + i] ?? 0) ^ (mask[i] ?? 0)
    const cipher = createCipheriv('aes-128-cbc', key, ZERO).setAutoPadding(false)
    return new Uint8Array(cipher.update(text).subarray(last))
  }
}

/** One block under AES-128. */
export function encryptBlock(key: Uint8Array, block: Uint8Array): Uint8Array {
  return new Uint8Array(createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(block))
}

function extended(message: Uint8Array, octets: number): Uint8Array {
  const text = new Uint8Array(message.length + octets)
  text.set(message)
  text[message.length] = 0x80
  return text
}

function doubled(block: Uint8Array): Uint8Array {
  const twice = new Uint8Array(BLOCK)
  for (let i = 0; i < BLOCK; i++) twice[i] = ((block[i] ?? 0) << 1) | ((block[i + 1] ?? 0) >> 7)
  if ((block[0] ?? 0) >= 0x80) twice[BLOCK - 1] = (twice[BLOCK - 1] ?? 0) ^ R128
  return twice
}
