import { createHash } from 'node:crypto'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { backupInvalid, isServiceError } from '@steeple/contracts'

/** What lies in a store is sealed or small: more effort makes it hardly smaller. */
const LEVEL = 1
const PIECE_BYTES = 65_536

/**
 * An empty gzip member (RFC 1952) whose comment says the SHA-256 of all octets before it: `gzip -d` and `tar xzf` read over
 * it, and no bit of the file can change unseen, not even one that unpacking does not look at.
 */
function sealOf(sha256: string): Buffer {
  const head = Buffer.from([0x1f, 0x8b, 0x08, 0x10, 0, 0, 0, 0, 0, 0xff])
  const empty = Buffer.from([0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0])
  return Buffer.concat([head, Buffer.from(`svc-backup sha256:${sha256}\0`, 'latin1'), empty])
}

const SEAL_BYTES = sealOf('0'.repeat(64)).length

/** Packs a stream, with the seal behind it. */
export async function* pack(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const digest = createHash('sha256')
  for await (const piece of through(source, createGzip({ level: LEVEL, chunkSize: PIECE_BYTES }))) {
    digest.update(piece)
    yield piece
  }
  yield sealOf(digest.digest('hex'))
}

/**
 * What comes of a backup is at most so many times as long as what of it has come, beyond the first octets: what lies in a store packs to a
 * fifth or a tenth. A file of some MiB may be made to unpack without end.
 */
const MOST_TIMES = 50
const FIRST_BYTES = 64 * 1_048_576

/**
 * Unpacks what `pack` made. Only when it ends without an error what it gave is proven. Throws `backup_invalid`, also for what
 * unpacks to far more than a backup does.
 */
export async function* unpack(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let packed = 0
  let unpacked = 0
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of source) {
      packed += piece.length
      yield piece
    }
  }
  try {
    for await (const piece of through(unsealed(counted()), createGunzip({ chunkSize: PIECE_BYTES }))) {
      unpacked += piece.length
      if (unpacked > FIRST_BYTES + MOST_TIMES * packed)
        throw backupInvalid('it unpacks to far more than a backup does; use another copy')
      yield piece
    }
  } catch (error) {
    if (!String((error as { code?: unknown }).code).startsWith('Z_') || isServiceError(error)) throw error
    throw backupInvalid('it is damaged, or not whole; use another copy', { cause: error })
  }
}

/** What is before the seal, which is checked at the end. */
async function* unsealed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const digest = createHash('sha256')
  let held: Buffer = Buffer.alloc(0)
  for await (const chunk of source) {
    const all = Buffer.concat([held, chunk])
    const piece = all.subarray(0, Math.max(0, all.length - SEAL_BYTES))
    held = all.subarray(piece.length)
    if (piece.length === 0) continue
    digest.update(piece)
    yield piece
  }
  if (!held.equals(sealOf(digest.digest('hex'))))
    throw backupInvalid('it is damaged, or not whole; use another copy')
}

async function* through(source: AsyncIterable<Uint8Array>, change: Transform): AsyncGenerator<Buffer> {
  const done = pipeline(Readable.from(source, { objectMode: false }), change)
  // Told where the pieces are read.
  done.catch(() => undefined)
  for await (const piece of change) yield piece as Buffer // a transform without an encoding gives Buffers
  await done
}
