import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { backupInvalid, type CapturedState, type StateFile } from '@steeple/contracts'
import type { Pace } from '../pace.ts'
import { type ByteReader, byteReader } from './byte-reader.ts'
import { backupDecryptFailed, type Cost, decrypt, encrypt, MAGIC, newSealing } from './frames.ts'
import { pack, unpack } from './gzip-seal.ts'
import {
  MANIFEST_LIMIT_BYTES,
  MANIFEST_NAME,
  type Manifest,
  type Member,
  manifestText,
  parseManifest,
} from './manifest.ts'

const BLOCK = 512
/** POSIX.1-1988 ustar: what its fields hold. */
const LONGEST_NAME = 100
const LARGEST_SIZE = 8 ** 11 - 1
const REGULAR = '0'
const EXTENDED = 'x'
/** Of the attributes of one file. */
const LONGEST_EXTENDED = 65_536
/** What may pad the end: `tar` fills a record of 10 KiB by default. */
const MOST_PADDING = 1_048_576

/** One file of an archive. `chunks` must be read to its end before the next file is asked for. */
interface TarFile {
  readonly name: string
  readonly size: number
  readonly chunks: AsyncIterable<Buffer>
}

/** A file as it goes into an archive. */
interface TarEntry {
  readonly name: string
  readonly size: number
  content(): AsyncIterable<Uint8Array>
}

/** An archive (ustar with pax headers where a name or a size needs them). Rejects when a file has another size than it says. */
export async function* writeTar(entries: readonly TarEntry[], mtimeS: number): AsyncGenerator<Buffer> {
  for (const { name, size, content } of entries) {
    if (Buffer.byteLength(name) > LONGEST_NAME || size > LARGEST_SIZE) {
      const attributes = Buffer.from(record('path', name) + record('size', String(size)))
      yield header('pax', attributes.length, EXTENDED, mtimeS)
      yield padded(attributes)
    }
    yield header(name.slice(-LONGEST_NAME), Math.min(size, LARGEST_SIZE), REGULAR, mtimeS)
    let written = 0
    for await (const chunk of content()) {
      written += chunk.length
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    }
    if (written !== size) throw new Error(`${name} has changed while it was read`)
    yield Buffer.alloc(paddingOf(size))
  }
  yield Buffer.alloc(2 * BLOCK)
}

/** The files of an archive in their order. Throws `backup_invalid`. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarFile> {
  const reader = byteReader(source)
  for (let file = await nextFile(reader); file !== undefined; file = await nextFile(reader)) yield file
  // Whatever pads the end has to be read too: it is under the seal. A few octets unpack to zeros without end.
  let padding = 0
  for await (const piece of reader.rest()) {
    padding += piece.length
    if (padding > MOST_PADDING || piece.some((octet) => octet !== 0))
      throw backupInvalid('something was added behind its end; use another copy')
  }
}

/** The next file, with the attributes in front of it; undefined at the end. */
async function nextFile(
  reader: ByteReader,
  attributes?: ReadonlyMap<string, string>,
): Promise<TarFile | undefined> {
  const block = await reader.take(BLOCK)
  if (block.length < BLOCK) throw notWhole()
  if (block.every((octet) => octet === 0)) return undefined
  const { name, size, type } = parseHeader(block)
  if (type === EXTENDED && attributes === undefined)
    return await nextFile(reader, await readAttributes(reader, size))
  if (type !== REGULAR) throw backupInvalid('it holds something that is no file; use another copy')
  const whole = Number(attributes?.get('size') ?? size)
  if (!Number.isSafeInteger(whole) || whole < 0)
    throw backupInvalid('it holds a file of no size; use another copy')
  return { name: attributes?.get('path') ?? name, size: whole, chunks: exactly(reader, whole) }
}

async function* exactly(reader: ByteReader, size: number): AsyncGenerator<Buffer> {
  let left = size
  for await (const piece of reader.pieces(size)) {
    left -= piece.length
    yield piece
  }
  const padding = paddingOf(size)
  if (left > 0 || (await reader.take(padding)).length < padding) throw notWhole()
}

function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(paddingOf(bytes.length))])
}

/** `<length of all> <key>=<value>\n`; the length counts its own digits. */
function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  let length = Buffer.byteLength(rest)
  while (Buffer.byteLength(rest) + String(length).length !== length)
    length = Buffer.byteLength(rest) + String(length).length
  return `${length}${rest}`
}

function header(name: string, size: number, type: string, mtimeS: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, digits: number): void =>
    void block.write(value.toString(8).padStart(digits, '0'), at, 'latin1')
  block.write(name, 0, 'utf8')
  octal(0o600, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size, 124, 11)
  octal(mtimeS, 136, 11)
  block.write(type, 156, 'latin1')
  block.write('ustar\u000000', 257, 'latin1')
  block.write(sumOf(block).toString(8).padStart(6, '0'), 148, 'latin1')
  block.write('\u0000 ', 154, 'latin1')
  return block
}

/** The sum of a header's octets with its own field taken as spaces. */
function sumOf(block: Buffer): number {
  return block.reduce((sum, octet, at) => sum + (at >= 148 && at < 156 ? 0x20 : octet), 0)
}

function parseHeader(block: Buffer): { readonly name: string; readonly size: number; readonly type: string } {
  const text = (at: number, length: number): string =>
    (block.toString('utf8', at, at + length).split('\0')[0] ?? '').trim()
  if (Number.parseInt(text(148, 8), 8) !== sumOf(block))
    throw backupInvalid('it is damaged; use another copy')
  return { name: text(0, LONGEST_NAME), size: Number.parseInt(text(124, 12), 8), type: text(156, 1) }
}

async function readAttributes(reader: ByteReader, size: number): Promise<ReadonlyMap<string, string>> {
  if (size > LONGEST_EXTENDED) throw backupInvalid('it is damaged; use another copy')
  const bytes = await reader.take(size)
  await reader.take(paddingOf(size))
  if (bytes.length < size) throw notWhole()
  const lines = bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
  return new Map(
    lines.map((line): [string, string] => {
      const [, key = '', value = ''] = /^\d+ ([^=]+)=(.*)$/.exec(line) ?? []
      return [key, value]
    }),
  )
}

function notWhole(): Error {
  return backupInvalid('its end is missing; use another copy')
}

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
  state: Omit<CapturedState, 'release'>,
  passphrase: Buffer | undefined,
  { cost, pace }: ArchiveOptions = {},
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
    throw backupInvalid('it does not begin with a manifest; use another copy')
  const manifest = parseManifest((await whole(first.value.chunks)).toString('utf8'))
  await sink.room?.(manifest.members.reduce((bytes, { size }) => bytes + size, 0))
  const missing = new Map(manifest.members.map((member) => [member.name, member]))
  for await (const { name, size, chunks } of files) {
    const member = missing.get(name)
    if (member === undefined || member.size !== size)
      throw backupInvalid('it holds a file that its manifest does not name; use another copy')
    missing.delete(name)
    const digest = createHash('sha256')
    await sink.add(name, size, hashed(chunks, digest))
    if (digest.digest('hex') !== member.sha256)
      throw backupInvalid(`${name} is not what its manifest says; use another copy`)
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
  if (!begin.subarray(0, GZIP.length).equals(GZIP))
    throw backupInvalid('it is no backup of this service; use another copy')
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

async function memberOf({ name, size, path }: StateFile, pace?: Pace): Promise<Member> {
  const digest = createHash('sha256')
  for await (const piece of readPieces(path, pace)) digest.update(piece)
  return { name, size, sha256: digest.digest('hex') }
}

async function* readPieces(path: string, pace?: Pace): AsyncGenerator<Buffer> {
  await using file = await open(path)
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(PIECE_BYTES), 0, PIECE_BYTES)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    await pace?.()
  }
}
