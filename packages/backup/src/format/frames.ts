import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { backupVersionUnsupported, defineError, type ErrorFactory } from '@steeple/contracts'
import type { ByteReader } from './byte-reader.ts'

/** The first octets of an encrypted backup. The line end shows a transfer that took it for text. */
export const MAGIC: Buffer = Buffer.from('SVCBKP\r\n', 'latin1')

/** What is encrypted cannot be read: by another passphrase, or because it is damaged. */
export const backupDecryptFailed: ErrorFactory = defineError(
  'backup_decrypt_failed',
  400,
  'the backup cannot be decrypted: %s',
)

const VERSION = 1
const HEADER_BYTES = 48
const SALT_BYTES = 32
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const FRAME_HEAD_BYTES = 5
/** Octets of content in each frame but the last. */
const FRAME_BYTES = 65_536
/**
 * scrypt (RFC 7914) with N = 2^15, r = 8, p = 3: as hard to guess as N = 2^17, p = 1 and a quarter of its memory, 32 MiB,
 * which a small box has to spare.
 */
const COST: Cost = { logN: 15, r: 8, p: 3 }
/** A header that asks for more is no backup of ours: the cost is paid before anything is proven. */
const MOST_COST: Cost = { logN: 17, r: 8, p: 8 }
/** What scrypt takes beside its table. */
const SPARE_BYTES = 1_048_576
const MORE = 0
const LAST = 1

const kdf = promisify<Buffer, Buffer, number, object, Buffer>(scrypt)

/** What scrypt costs: N is 2 to the power of `logN`. */
export interface Cost {
  readonly logN: number
  readonly r: number
  readonly p: number
}

interface Header extends Cost {
  readonly bytes: Buffer
  readonly frameBytes: number
  readonly salt: Buffer
}

/** What one file is encrypted with. */
export interface Sealing {
  readonly header: Header
  readonly key: Buffer
}

/** A header of its own and the key from a passphrase (its octets), which is what costs. */
export async function newSealing(passphrase: Buffer, cost: Cost = COST): Promise<Sealing> {
  const header = newHeader(cost)
  return { header, key: await keyOf(header, passphrase) }
}

/** Encrypts a stream; docs/reference/backup-file.md has the format. A sealing is for one stream: its nonces begin anew with each. */
export async function* encrypt(source: ByteReader, { header, key }: Sealing): AsyncGenerator<Buffer> {
  yield header.bytes
  let content = await source.take(FRAME_BYTES)
  for (let number = 0; ; number++) {
    const isLast = await source.isOver()
    yield seal(key, header, number, isLast, content)
    if (isLast) return
    content = await source.take(FRAME_BYTES)
  }
}

/**
 * Decrypts what `encrypt` made; each frame is given only once it is proven.
 * Throws `backup_decrypt_failed`, `backup_version_unsupported`.
 */
export async function* decrypt(source: ByteReader, passphrase: Buffer): AsyncGenerator<Buffer> {
  const header = parseHeader(await source.take(HEADER_BYTES))
  const key = await keyOf(header, passphrase)
  for (let number = 0; ; number++) {
    const head = await source.take(FRAME_HEAD_BYTES)
    if (head.length < FRAME_HEAD_BYTES) throw truncated()
    const isLast = head.readUInt8(0) === LAST
    const length = head.readUInt32BE(1)
    if (length > header.frameBytes || (!isLast && length !== header.frameBytes)) throw damaged(number)
    const sealed = await source.take(length + TAG_BYTES)
    if (sealed.length < length + TAG_BYTES) throw truncated()
    yield open(key, header, number, head, sealed)
    if (!isLast) continue
    if (!(await source.isOver()))
      throw backupDecryptFailed('something was added behind its end; use another copy')
    return
  }
}

function newHeader(cost: Cost): Header {
  const bytes = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(bytes)
  bytes.writeUInt8(VERSION, 8)
  bytes.writeUInt8(cost.logN, 9)
  bytes.writeUInt8(cost.r, 10)
  bytes.writeUInt8(cost.p, 11)
  bytes.writeUInt32BE(FRAME_BYTES, 12)
  const salt = randomBytes(SALT_BYTES)
  salt.copy(bytes, 16)
  return { bytes, ...cost, frameBytes: FRAME_BYTES, salt }
}

function parseHeader(bytes: Buffer): Header {
  if (bytes.length < HEADER_BYTES) throw truncated()
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw backupDecryptFailed('it is no encrypted backup; use another copy')
  const version = bytes.readUInt8(8)
  if (version !== VERSION) throw backupVersionUnsupported(`of format ${version}`)
  const [logN, r, p] = [bytes.readUInt8(9), bytes.readUInt8(10), bytes.readUInt8(11)]
  const frameBytes = bytes.readUInt32BE(12)
  const isBounded =
    logN >= 1 && logN <= MOST_COST.logN && r >= 1 && r <= MOST_COST.r && p >= 1 && p <= MOST_COST.p
  if (!isBounded || frameBytes !== FRAME_BYTES)
    throw backupDecryptFailed('its header is damaged; use another copy')
  return { bytes, logN, r, p, frameBytes, salt: bytes.subarray(16) }
}

async function keyOf({ logN, r, p, salt }: Header, passphrase: Buffer): Promise<Buffer> {
  const cost = 2 ** logN
  try {
    return await kdf(passphrase, salt, KEY_BYTES, {
      N: cost,
      r,
      p,
      maxmem: 256 * r * (cost + p) + SPARE_BYTES,
    })
  } catch (cause) {
    // Some numbers that are within bounds make no scrypt together (RFC 7914 §6).
    throw backupDecryptFailed('its header is damaged; use another copy', { cause })
  }
}

/** The key is this file's alone, so a frame's number is a nonce that never comes twice under it. */
function nonceOf(number: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUIntBE(number, NONCE_BYTES - 6, 6)
  return nonce
}

function seal(key: Buffer, header: Header, number: number, isLast: boolean, content: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES)
  head.writeUInt8(isLast ? LAST : MORE, 0)
  head.writeUInt32BE(content.length, 1)
  const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number), { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.concat([header.bytes, head]))
  return Buffer.concat([head, cipher.update(content), cipher.final(), cipher.getAuthTag()])
}

function open(key: Buffer, header: Header, number: number, head: Buffer, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.concat([header.bytes, head]))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch (cause) {
    throw damaged(number, cause)
  }
}

function damaged(number: number, cause?: unknown): Error {
  const reason =
    number === 0
      ? 'the passphrase is another one, or the file is damaged; check the passphrase, or use another copy'
      : `the file is damaged (frame ${number}); use another copy`
  return backupDecryptFailed(reason, { cause })
}

function truncated(): Error {
  return backupDecryptFailed('its end is missing; use another copy')
}
