import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'

/** Octets of a key of WireGuard, private, public and preshared alike. */
const KEY_OCTETS = 32
/** What stands before the octets of an X25519 private key in PKCS#8. RFC 8410 §7. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b656e04220420', 'hex')

/** A pair of keys, each 32 octets in base64. */
export interface KeyPair {
  readonly privateKey: string
  readonly publicKey: string
}

/** A new pair from the system's random source. */
export function newKeyPair(): KeyPair {
  const { privateKey } = generateKeyPairSync('x25519')
  const octets = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-KEY_OCTETS)
  const text = octets.toString('base64')
  octets.fill(0)
  return { privateKey: text, publicKey: publicKeyOf(text) }
}

/** The public key of a private one (base64). X25519, RFC 7748 §6.1. */
export function publicKeyOf(privateKey: string): string {
  const der = Buffer.concat([PKCS8_HEAD, Buffer.from(privateKey, 'base64')])
  try {
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
    return spki.subarray(-KEY_OCTETS).toString('base64')
  } finally {
    der.fill(0)
  }
}

/** A new preshared key, base64. */
export function newPresharedKey(): string {
  return randomBytes(KEY_OCTETS).toString('base64')
}

/** Whether a text is the base64 of 32 octets as `wg` writes them: 44 characters, no stray bits. */
export function isKey(text: string): boolean {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return false
  return Buffer.from(text, 'base64').toString('base64') === text
}

/** By what a preshared key is compared without being kept: SHA-256 of its text, hexadecimal. */
export function pskDigest(presharedKey: string): string {
  return createHash('sha256').update(presharedKey).digest('hex')
}
