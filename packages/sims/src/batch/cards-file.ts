import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto'
import { storeCorrupt } from '@steeple/contracts'
import { drawOctets } from '../secrets/random.ts'

/*
 * cards.csv.sealed:
 *
 *   octet 0        version, 1
 *   octets 1-12    nonce
 *   octets 13-28   tag
 *   octets 29-     ciphertext
 *
 * AES-256-GCM under a key of the batch's own; additional authenticated data: octet 0, then `cards/<batch id>`. The key
 * is in the store, sealed with the vault key, so a rotation of that never has to touch the files.
 */
const VERSION = 1
const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES

/** A key for one batch, 32 octets. The caller wipes it. */
export function drawBatchKey(): Uint8Array {
  return drawOctets(32)
}

/** The sealed cards file of a batch. */
export function sealCards(csv: Uint8Array, key: Uint8Array, batchId: string): Uint8Array {
  const nonce = drawOctets(NONCE_BYTES)
  // As octets the same key costs the runtime four times as much.
  const cipher = createCipheriv(ALGORITHM, createSecretKey(key), nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(additionalData(batchId))
  const body = cipher.update(csv)
  cipher.final()
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body])
}

/** The cards of a sealed file. Throws `store_corrupt` when it was changed, moved or cut. */
export function openCards(sealed: Uint8Array, key: Uint8Array, batchId: string): Uint8Array {
  if (sealed.length < HEAD_BYTES || sealed[0] !== VERSION) throw storeCorrupt('cards.csv.sealed')
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
  const decipher = createDecipheriv(ALGORITHM, createSecretKey(key), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(additionalData(batchId))
  decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES))
  const csv = decipher.update(sealed.subarray(HEAD_BYTES))
  try {
    decipher.final()
  } catch (cause) {
    csv.fill(0)
    throw storeCorrupt('cards.csv.sealed', { cause })
  }
  return csv
}

function additionalData(batchId: string): Buffer {
  return Buffer.concat([Buffer.of(VERSION), Buffer.from(`cards/${batchId}`)])
}
