import { backupInvalid } from '@steeple/contracts'
import { type ByteReader, byteReader } from './byte-reader.ts'

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
export interface TarFile {
  readonly name: string
  readonly size: number
  readonly chunks: AsyncIterable<Buffer>
}

/** A file as it goes into an archive. */
export interface TarEntry {
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
      throw backupInvalid('something was added behind its end')
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
  if (type !== REGULAR) throw backupInvalid('it holds something that is no file')
  const whole = Number(attributes?.get('size') ?? size)
  if (!Number.isSafeInteger(whole) || whole < 0) throw backupInvalid('it holds a file of no size')
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
  if (Number.parseInt(text(148, 8), 8) !== sumOf(block)) throw backupInvalid('it is damaged')
  return { name: text(0, LONGEST_NAME), size: Number.parseInt(text(124, 12), 8), type: text(156, 1) }
}

async function readAttributes(reader: ByteReader, size: number): Promise<ReadonlyMap<string, string>> {
  if (size > LONGEST_EXTENDED) throw backupInvalid('it is damaged')
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
  return backupInvalid('its end is missing')
}
