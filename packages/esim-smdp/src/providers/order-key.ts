import { fieldRefused } from '@steeple/contracts'
import type { Key } from 'openpgp'

/** What a person compares with the provider before keys go out under it. */
export interface OrderKeyFacts {
  /** Hexadecimal, upper case. */
  readonly fingerprint: string
  readonly users: readonly string[]
  /** Null: it does not expire. */
  readonly expiresAtMs: number | null
}

/** Few boxes have a provider: the library is not loaded before. */
const openpgp = () => import('openpgp')

/** Reads a public key that files can be encrypted to now. Throws `validation_failed`. */
export async function orderKeyFacts(armored: string, nowMs: number): Promise<OrderKeyFacts> {
  const key = await usableKey(armored, nowMs)
  const expires = await key.getExpirationTime()
  return {
    fingerprint: key.getFingerprint().toUpperCase(),
    users: key.getUserIDs(),
    expiresAtMs: expires instanceof Date ? expires.getTime() : null,
  }
}

async function usableKey(armored: string, nowMs: number): Promise<Key> {
  const { readKey } = await openpgp()
  const key = await readKey({ armoredKey: armored }).catch(() => {
    throw fieldRefused('/order_key', 'is no OpenPGP public key in ASCII armor')
  })
  if (key.isPrivate())
    throw fieldRefused(
      '/order_key',
      'is a private key; ask the provider for its public key, and tell it that you have this one',
    )
  await key.getEncryptionKey(undefined, new Date(nowMs)).catch(() => {
    throw fieldRefused('/order_key', 'cannot be encrypted to: it has expired, is revoked or only signs')
  })
  return key
}

/** Encrypts a file to a key: ASCII armor, as `gpg --decrypt` takes it. Throws `validation_failed` when the key has ended since. */
export async function encryptedTo(
  armored: string,
  file: { readonly name: string; readonly octets: Uint8Array },
  nowMs: number,
): Promise<string> {
  const { createMessage, encrypt } = await openpgp()
  const encryptionKeys = await usableKey(armored, nowMs)
  const date = new Date(nowMs)
  const message = await createMessage({ binary: file.octets, filename: file.name, date })
  return await encrypt({ message, encryptionKeys, format: 'armored', date })
}
