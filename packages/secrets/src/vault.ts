import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import { type SealedColumns, storeCorrupt, type Vault } from '@steeple/contracts'
import { KEY_ID_BYTES, type Keyring } from './keyring.ts'

/*
 * A sealed value:
 *
 *   octet 0        version, 1
 *   octets 1-4     key id
 *   octets 5-16    nonce, 96 random bits (NIST SP 800-38D §8.2.2)
 *   octets 17-32   tag, 128 bits
 *   octets 33-     ciphertext, as long as the plain value
 *
 * Additional authenticated data: octets 0-4, then the row id in UTF-8. Random nonces are safe for 2^32 values under
 * one key; rotate before that.
 */
const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES
const PREFIX_BYTES: number = HEADER_BYTES + NONCE_BYTES + TAG_BYTES
const ALGORITHM = 'aes-256-gcm'

/** The vault of the kernel: what plugins may use, and what a rotation needs. */
export interface KernelVault extends Vault {
  readonly keyring: Keyring
  /** Every table that was ever registered on this node, also by plugins that are not loaded now. */
  registered(): readonly SealedColumns[]
}

/** Nonces that are drawn at once: a draw for each of them took a tenth of the time of a seal. */
const NONCES_AT_ONCE = 256

/** Gives nonces, each once. */
function createNonces(): () => Buffer {
  const drawn = Buffer.alloc(NONCES_AT_ONCE * NONCE_BYTES)
  let at = drawn.length
  return () => {
    if (at === drawn.length) {
      randomFillSync(drawn)
      at = 0
    }
    at += NONCE_BYTES
    return drawn.subarray(at - NONCE_BYTES, at)
  }
}

/** Seals and opens values under the keys of a keyring. */
export function createVault(keyring: Keyring): KernelVault {
  const nextNonce = createNonces()
  let header: { readonly of: string; readonly octets: Buffer } | undefined
  /** What all values under a key begin with. */
  const headerOf = (id: string): Buffer => {
    if (header?.of !== id) header = { of: id, octets: sealedHead(id) }
    return header.octets
  }
  return {
    keyring,
    get keyId() {
      return keyring.current.id
    },
    seal: (plain, rowId) => {
      const { id, key } = keyring.current
      const head = headerOf(id)
      const nonce = nextNonce()
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(additionalData(head, rowId))
      const ciphertext = cipher.update(plain)
      cipher.final()
      return Buffer.concat([head, nonce, cipher.getAuthTag(), ciphertext])
    },
    open: (sealed, rowId) => {
      const key = keyring.find(sealedKeyId(sealed) ?? '')?.key
      if (key === undefined) throw corrupt(rowId)
      const nonce = sealed.subarray(HEADER_BYTES, HEADER_BYTES + NONCE_BYTES)
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(additionalData(sealed.subarray(0, HEADER_BYTES), rowId))
      decipher.setAuthTag(sealed.subarray(HEADER_BYTES + NONCE_BYTES, PREFIX_BYTES))
      const plain = decipher.update(sealed.subarray(PREFIX_BYTES))
      try {
        decipher.final()
      } catch (cause) {
        plain.fill(0)
        throw corrupt(rowId, cause)
      }
      return plain
    },
    register: (columns) => keyring.tables.add(columns),
    registered: () => keyring.tables.all(),
  }
}

/** The id of the key that a value is sealed under; undefined when it is no sealed value. */
export function sealedKeyId(sealed: Uint8Array): string | undefined {
  if (sealed.length < PREFIX_BYTES || sealed[0] !== VERSION) return undefined
  return Buffer.from(sealed.subarray(1, HEADER_BYTES)).toString('hex')
}

/** What every value under a key begins with. */
export function sealedHead(id: string): Buffer {
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(id, 'hex')])
}

function additionalData(header: Uint8Array, rowId: string): Buffer {
  return Buffer.concat([header, Buffer.from(rowId)])
}

/** A row id begins with its table; the rest may say whose row it is. */
function corrupt(rowId: string, cause?: unknown): Error {
  return storeCorrupt(rowId.split('/')[0] ?? '', { cause })
}
