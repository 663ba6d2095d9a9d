import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type SealedColumns, storeCorrupt, type Vault } from '@steeple/contracts'

/** A vault with a key of its own, for tests without a kernel. */
export function testVault(): Vault & { readonly registered: SealedColumns[] } {
  const key = randomBytes(32)
  const registered: SealedColumns[] = []
  return {
    keyId: '00000001',
    registered,
    register: (columns) => void registered.push(columns),
    seal: (plain, rowId) => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(rowId))
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open: (sealed, rowId) => {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
      decipher.setAAD(Buffer.from(rowId))
      decipher.setAuthTag(sealed.subarray(12, 28))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
      } catch (cause) {
        throw storeCorrupt('test', { cause })
      }
    },
  }
}
