import { hkdfSync, type KeyObject } from 'node:crypto'
import type { SessionKeys } from '@steeple/contracts'

/** Octets of a key for one purpose. */
const KEY_BYTES = 32

/** What a plugin gets of the session key: keys for purposes, never the key itself. RFC 5869. */
export function sessionKeysOf(secrets: {
  readonly jwtKey: KeyObject
  readonly jwtKeyId: string
}): SessionKeys {
  return {
    keyId: secrets.jwtKeyId,
    derive: (purpose) =>
      new Uint8Array(hkdfSync('sha256', secrets.jwtKey, '', `steeple ${purpose}`, KEY_BYTES)),
  }
}
