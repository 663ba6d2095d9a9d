import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { backupDecryptFailed, backupInvalid, type CapturedState, type StateFile } from '@steeple/contracts'
import { FULL_PACE, type Pace } from '../pace.ts'
import { type ByteReader, byteReader } from './byte-reader.ts'
import { type Cost, decrypt, encrypt, MAGIC, newSealing } from './frames.ts'
import { pack, unpack } from './gzip-seal.ts'
import {
  MANIFEST_LIMIT_BYTES,
  MANIFEST_NAME,
  type Manifest,
  type Member,
  manifestText,
  parseManifest,
} from './manifest.ts'
import { readTar, type TarEntry, writeTar } from './tar.ts'

const PIECE_BYTES = 65_536
const GZIP = Buffer.from([0x1f, 0x8b])

/** What is done with the files of a backup as they are read. */
export interface ArchiveSink {
  /** Called before the first file with the size of all of them, as the manifest has it. Throws where there is no room. */
  room?(bytes: number): Promise<void>
  /** Reads `chunks` to their end. */
  add(name: string, size: number, chunks: AsyncIterable<Uint8Array>): Promise<void>
}

/** How a backup is made; nothing need be said. */
export interface ArchiveOptions {
  readonly cost?: Cost | undefined
  readonly pace?: Pace
}

/** The octets of a backup of a state; encrypted when a passphrase (its octets) is given. */
export async function* writeArchive(
  state: CapturedState,
  passphrase: Buffer | undefined,
  { cost, pace = FULL_PACE }: ArchiveOptions = {},
): AsyncGenerator<Buffer> {
  // What scrypt takes is given back before anything else takes memory.
  const sealing = passphrase === undefined ? undefined : await newSealing(passphrase, cost)
  const members: Member[] = []
  for (const file of state.files) members.push(await memberOf(file, pace))
  const manifest = Buffer.from(manifestText({ facts: state.facts, members }))
  const entries: readonly TarEntry[] = [
    { name: MANIFEST_NAME, size: manifest.length, content: () => once(manifest) },
    ...state.files.map(({ name, size, path }) => ({ name, size, content: () => readPieces(path, pace) })),
  ]
  const packed = pack(writeTar(entries, Math.floor(state.facts.takenAtMs / 1_000)))
  if (sealing === undefined) yield* packed
  else yield* encrypt(byteReader(packed), sealing)
}

/**
 * Reads a backup from its first octet to its last, checks every one of them and gives each file to `sink`. What the sink
 * got is proven only when it resolves. Throws `backup_invalid`, `backup_decrypt_failed`, `backup_version_unsupported`, and
 * what source and sink throw.
 */
export async function readArchive(
  source: AsyncIterable<Uint8Array>,
  passphrase: Buffer | undefined,
  sink: ArchiveSink,
): Promise<Manifest> {
  const files = readTar(unpack(await plainOf(byteReader(source), passphrase)))
  const first = await files.next()
  if (first.done === true || first.value.name !== MANIFEST_NAME || first.value.size > MANIFEST_LIMIT_BYTES)
    throw backupInvalid('it does not begin with a manifest')
  const manifest = parseManifest((await whole(first.value.chunks)).toString('utf8'))
  await sink.room?.(manifest.members.reduce((bytes, { size }) => bytes + size, 0))
  const missing = new Map(manifest.members.map((member) => [member.name, member]))
  for await (const { name, size, chunks } of files) {
    const member = missing.get(name)
    if (member === undefined || member.size !== size)
      throw backupInvalid('it holds a file that its manifest does not name')
    missing.delete(name)
    const digest = createHash('sha256')
    await sink.add(name, size, hashed(chunks, digest))
    if (digest.digest('hex') !== member.sha256) throw backupInvalid(`${name} is not what its manifest says`)
  }
  if (missing.size > 0) throw backupInvalid(`it lacks ${[...missing.keys()].slice(0, 3).join(', ')}`)
  return manifest
}

async function plainOf(
  reader: ByteReader,
  passphrase: Buffer | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const begin = await reader.take(MAGIC.length)
  const all = byteReader(joined(begin, reader.rest()))
  if (begin.equals(MAGIC)) {
    if (passphrase === undefined)
      throw backupDecryptFailed('it is encrypted; give its passphrase in X-Backup-Passphrase')
    return decrypt(all, passphrase)
  }
  if (!begin.subarray(0, GZIP.length).equals(GZIP)) throw backupInvalid('it is no backup of this service')
  return all.rest()
}

async function whole(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}

async function* joined(begin: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield begin
  yield* rest
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

async function* hashed(
  chunks: AsyncIterable<Buffer>,
  digest: { update(bytes: Uint8Array): unknown },
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    digest.update(chunk)
    yield chunk
  }
}

async function memberOf({ name, size, path }: StateFile, pace: Pace): Promise<Member> {
  const digest = createHash('sha256')
  for await (const piece of readPieces(path, pace)) digest.update(piece)
  return { name, size, sha256: digest.digest('hex') }
}

async function* readPieces(path: string, pace: Pace): AsyncGenerator<Buffer> {
  await using file = await open(path)
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(PIECE_BYTES), 0, PIECE_BYTES)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    await pace.rest()
  }
}
