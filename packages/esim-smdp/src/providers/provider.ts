import { createPrivateKey, hash, X509Certificate } from 'node:crypto'
import {
  defineError,
  type ErrorFactory,
  fieldRefused,
  type Reader,
  validationFailed,
} from '@steeple/contracts'
import type { Key } from 'openpgp'
import { PROVIDERS, type ProviderRow } from '../store/provider-store.ts'

/** There is no such provider. */
const providerNotFound: ErrorFactory = defineError(
  'esim_provider_not_found',
  404,
  'there is no eSIM provider %s; look for it in the list of providers',
)
/** The provider cannot do that as it is set up, or codes depend on it. */
export const providerConflict: ErrorFactory = defineError('esim_provider_conflict', 409, '%s')

/** A provider by its id. Throws `esim_provider_not_found`, `store_corrupt`. */
export async function providerBy(reader: Reader, id: string): Promise<ProviderRow> {
  const row = await PROVIDERS.find(reader, { id })
  if (row === undefined) throw providerNotFound(id)
  return row
}

const LOOPBACK = /^(127(\.[0-9]+){3}|\[::1\]|localhost)$/

/** The base of ES2+: without a path behind it. Throws `validation_failed`. */
export function checkedUrl(text: string): string {
  if (text === '') return ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname))
  if (url === undefined || !isSafe)
    throw fieldRefused('/url', 'has to begin with https://; http:// is for programs of this machine alone')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw fieldRefused('/url', 'has to be an address and a path alone, without user, query and fragment')
  return text.replace(/\/+$/, '').replace(/\/gsma\/rsp2\/es2plus$/, '')
}

/** Checks authorities, certificate and key as TLS will take them. Throws `validation_failed`. */
export function checkTls({
  ca,
  cert,
  key,
}: {
  readonly ca: string
  readonly cert: string
  readonly key: string | undefined
}): void {
  const read = (pointer: string, pem: string): X509Certificate => {
    try {
      return new X509Certificate(pem)
    } catch (cause) {
      throw refusedBy(pointer, 'is no certificate in PEM', cause)
    }
  }
  if (ca !== '') read('/ca', ca)
  if (cert === '') {
    if (key !== undefined) throw fieldRefused('/cert', 'is missing; the key needs its certificate')
    return
  }
  const certificate = read('/cert', cert)
  if (key === undefined)
    throw fieldRefused('/key', 'is missing; send the private key of the client certificate')
  if (!certificate.checkPrivateKey(privateKeyOf(key)))
    throw fieldRefused('/key', 'does not belong to the client certificate')
}

function privateKeyOf(pem: string): ReturnType<typeof createPrivateKey> {
  try {
    return createPrivateKey(pem)
  } catch (cause) {
    throw refusedBy('/key', 'is no private key in PEM without a passphrase', cause)
  }
}

function refusedBy(pointer: string, message: string, cause: unknown): Error {
  return validationFailed(`${pointer} ${message}`, { cause, details: [{ pointer, message }] })
}

/** The subject of a certificate as it is compared: its attributes in the order of their names, whatever order it names them in. */
export function subjectOf(text: string): string {
  const attributes = text.split(/\n|,\s*(?=[A-Za-z0-9.]+=)/).map((one) => one.trim())
  return attributes
    .filter((one) => one !== '')
    .toSorted()
    .join(', ')
}

/** What a password of notifications is kept as. It has 130 random bits, so a plain hash is enough. */
export function notifyHash(password: string): string {
  return hash('sha256', password)
}

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
