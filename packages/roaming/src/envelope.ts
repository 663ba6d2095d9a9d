import { createHmac, createPrivateKey, createPublicKey, diffieHellman, hash, hkdfSync } from 'node:crypto'
import { isRecord, jsonIn, type Reader, type Vault, validationFailed } from '@steeple/contracts'
import { CompactEncrypt, compactDecrypt, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { RoamingParts } from './parts.ts'
import { KEYS, type KeyRow } from './store.ts'

/*
 * What travels from box to box: a JWE of RFC 7516 to the X25519 key of the one that is meant (RFC 8037). Who sends and who is meant are in
 * `apu` and `apv`, which the content's key is derived from (RFC 7518 §4.6.2).
 */
const ALGORITHM = 'ECDH-ES'
const ENCRYPTION = 'A256GCM'
/** Of an envelope: some hundreds of octets, APNs included. */
export const MOST_CHARACTERS = 16_384

/** The public half of a key of a box. */
export interface BoxKey {
  readonly id: string
  /** X25519, base64url. */
  readonly x: string
}
/** Who an envelope is from and for, by node id. */
export interface Ends {
  readonly home: string
  readonly visited: string
}

/** Makes a key; its private half is sealed. */
export async function drawKey(vault: Vault): Promise<KeyRow> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: 'X25519', extractable: true })
  const jwk = await exportJWK(privateKey)
  const x = jwk.x ?? ''
  const id = hash('sha256', x).slice(0, 16)
  const plain = Buffer.from(JSON.stringify(jwk))
  try {
    return { id, x, private_sealed: vault.seal(plain, `roaming_key/${id}`) }
  } finally {
    plain.fill(0)
  }
}

/** The key that others seal to; made when there is none. */
export async function ownKey({ context, vault }: RoamingParts): Promise<KeyRow> {
  const known = await ownKeyRow(context.db)
  if (known !== undefined) return known
  const drawn = await drawKey(vault)
  return await context.db.write(async (tx) => {
    const other = await ownKeyRow(tx)
    if (other === undefined) await KEYS.insert(tx, drawn)
    return other ?? drawn
  })
}

/** The newest. */
async function ownKeyRow(reader: Reader): Promise<KeyRow | undefined> {
  return (await KEYS.select(reader, 'order by id limit 1'))[0]
}

/** Seals octets for the owner of a key. They stay the caller's to zero. Throws `validation_failed` for what is no such key. */
export async function sealTo({ id, x }: BoxKey, { home, visited }: Ends, plain: Uint8Array): Promise<string> {
  const key = await imported({ kty: 'OKP', crv: 'X25519', x })
  return await new CompactEncrypt(plain)
    .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, kid: id })
    .setKeyManagementParameters({ apu: Buffer.from(home), apv: Buffer.from(visited) })
    .encrypt(key)
}

/**
 * Opens what was sealed to this box by that home. The caller zeroes it. Undefined: to another key, which is no longer this box's. Throws
 * `validation_failed` for what was changed, or is of another home.
 */
export async function openFrom(
  vault: Vault,
  { id, private_sealed }: KeyRow,
  { home, visited }: Ends,
  envelope: string,
): Promise<Uint8Array | undefined> {
  if (kidOf(envelope) !== id) return undefined
  const plain = vault.open(private_sealed, `roaming_key/${id}`)
  let opened: Awaited<ReturnType<typeof compactDecrypt>> | undefined
  try {
    // What the library throws says no more than that.
    opened = await decrypted(JSON.parse(Buffer.from(plain).toString()) as JWK, envelope).catch(
      () => undefined,
    )
  } finally {
    plain.fill(0)
  }
  const header = opened?.protectedHeader
  const isMeant = header?.apu === base64url(home) && header.apv === base64url(visited)
  if (opened !== undefined && isMeant) return opened.plaintext
  opened?.plaintext.fill(0)
  throw validationFailed('the envelope was changed, or is from or for another box; send it again')
}

async function decrypted(jwk: JWK, envelope: string): ReturnType<typeof compactDecrypt> {
  const options = { keyManagementAlgorithms: [ALGORITHM], contentEncryptionAlgorithms: [ENCRYPTION] }
  return await compactDecrypt(envelope, await imported(jwk), options)
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function kidOf(envelope: string): unknown {
  const header = jsonIn(Buffer.from(envelope.split('.')[0] ?? '', 'base64url').toString())
  return isRecord(header) ? header.kid : undefined
}

async function imported(jwk: JWK): Promise<Exclude<Awaited<ReturnType<typeof importJWK>>, Uint8Array>> {
  const key = await importJWK(jwk, ALGORITHM).catch(() => undefined)
  if (key === undefined || key instanceof Uint8Array) throw validationFailed('the key is no X25519 key')
  return key
}

/** Of a call: 128 bits in hexadecimal. */
const CALL_CHARACTERS = 32

/**
 * Names SIMs to one other box in words that only these two have: HMAC-SHA-256 of the hash of the IMSI under a key of both. Another box
 * learns nothing of it, and the one that is asked learns it only of SIMs that it has. Throws `validation_failed` for what is no such key.
 */
export function callNames(
  vault: Vault,
  own: KeyRow,
  other: BoxKey,
  { asker, asked }: { readonly asker: string; readonly asked: string },
): (imsi: string) => string {
  const plain = vault.open(own.private_sealed, `roaming_key/${own.id}`)
  try {
    // The key of this box is its own; that of the other is checked by the import.
    const privateKey = createPrivateKey({ key: JSON.parse(Buffer.from(plain).toString()), format: 'jwk' })
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: other.x }, format: 'jwk' })
    const secret = diffieHellman({ privateKey, publicKey })
    const key = Buffer.from(hkdfSync('sha256', secret, '', `steeple roaming call ${asker} ${asked}`, 32))
    secret.fill(0)
    return (imsi) => createHmac('sha256', key).update(imsi).digest('hex').slice(0, CALL_CHARACTERS)
  } catch (cause) {
    throw validationFailed('the key is no X25519 key', { cause })
  } finally {
    plain.fill(0)
  }
}
