import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { type SessionKeys, storeCorrupt, type Vault } from '@steeple/contracts'
import { URI } from 'otpauth'

/** The code that an authenticator with that URI shows at a time. */
export function codeAt(uri: string, atMs: number): string {
  const totp = URI.parse(uri)
  if (!('period' in totp)) throw new Error('not a TOTP')
  return totp.generate({ timestamp: atMs })
}

/** Session keys of their own, for tests without a kernel. */
export function testKeys(keyId = '00000001'): SessionKeys {
  const key = randomBytes(32)
  return { keyId, derive: (purpose) => new Uint8Array(hkdfSync('sha256', key, '', purpose, 32)) }
}

/** A vault with a key of its own, for tests without a kernel. */
export function testVault(): Vault {
  const key = randomBytes(32)
  return {
    keyId: '00000001',
    register: () => undefined,
    seal: (plain, rowId) => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(rowId))
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open: (sealed, rowId) => {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12))
      decipher.setAAD(Buffer.from(rowId)).setAuthTag(sealed.subarray(12, 28))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
      } catch (cause) {
        throw storeCorrupt('test', { cause })
      }
    },
  }
}
