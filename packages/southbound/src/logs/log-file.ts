import { hash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { isRecord, jsonIn, southboundUnavailable } from '@steeple/contracts'

/** Why a file cannot be read, besides the codes of the system. */
const NO_FILE = 'it is a pipe, a device or a directory where a file must be'

/**
 * A file, open for reading. Waits for nobody: a pipe that nobody writes would hold one of the few threads that all files
 * of the service are read by. Throws an error whose `code` says why, for people where the system has no word for it.
 */
export async function openPlain(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw Object.assign(new Error(NO_FILE), { code: NO_FILE })
}

/** What somebody has written to a log since a position, each line once. */
export interface NewLines {
  readonly lines: readonly string[]
  /** For the next call. Says what is in the log by its hash alone. */
  readonly position: string
  /** False: some was gone before it was read. */
  readonly isWhole: boolean
}

/** A position as `text` that was written by `JSON.stringify`; undefined for anything else, which is as none. */
export function positionFrom<T extends object>(
  text: string | undefined,
  isOne: (value: Partial<T>) => boolean,
): T | undefined {
  const value = jsonIn(text ?? '')
  // The check says that its fields are there.
  return isRecord(value) && isOne(value as Partial<T>) ? (value as T) : undefined
}

/** Where in which file: files are known by how they begin, since rotation renames, copies and packs them. */
interface FilePosition {
  readonly at: number
  /** Of the first octets: how many, and their hash. */
  readonly head: number
  readonly sha256: string
}

const HEAD_BYTES = 512
/** What one call reads; the rest is for the next one. */
const MOST_BYTES = 4 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * The lines that were added to a log file since `position`; without one none, and the position of its end.
 *
 * Follows rotation by renaming (the writer goes on in the renamed file until it opens the new one), by copying and
 * truncating, packed or not, over several at once, as long as the rotated file lies beside the log under a name that
 * begins with the log's. A log that is not there yet is read from its beginning. Throws `southbound_unavailable` when there is nothing to read.
 */
export async function newLinesOfFile(path: string, position: string | undefined): Promise<NewLines> {
  const from = positionFrom<FilePosition>(
    position,
    ({ at, head, sha256 }) =>
      typeof at === 'number' && typeof head === 'number' && typeof sha256 === 'string',
  )
  if (from === undefined) return { lines: [], position: await endOf(path), isWhole: true }
  if (await begins(path, from)) return await readOn([path], from, true)
  const beside = await rotated(path)
  const found = await indexOf(beside, from)
  const isBegun = ((await sizeOf(path)) ?? 0) > 0
  // Until the new file has something in it, the writer may go on in the old one.
  const after = isBegun ? [path] : []
  if (found >= 0) return await readOn([...beside.slice(found), ...after], from, true)
  if (!isBegun) return { lines: [], position: position ?? '', isWhole: true }
  return await readOn([path], { at: 0, head: 0, sha256: '' }, false)
}

async function readOn(files: readonly string[], from: FilePosition, isWhole: boolean): Promise<NewLines> {
  const lines: string[] = []
  let room = MOST_BYTES
  let next = from
  for (const [i, path] of files.entries()) {
    const isLast = i === files.length - 1
    const begin = i === 0 ? from.at : 0
    const { octets, isAtEnd } = await octetsOf(path, begin, room)
    const end = isLast || !isAtEnd ? octets.lastIndexOf(NEWLINE) + 1 : octets.length
    lines.push(...linesIn(octets.subarray(0, end)))
    next = { ...(await headOf(path, begin + end)), at: begin + end }
    room -= octets.length
    if (!isAtEnd || room <= 0) break
  }
  return { lines, position: JSON.stringify(next), isWhole }
}

function linesIn(octets: Buffer): readonly string[] {
  const text = octets.toString('utf8')
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}

async function endOf(path: string): Promise<string> {
  const size = await sizeOf(path)
  // Where it will be: all that is in it then is new.
  if (size === undefined && (await isFolder(dirname(path))))
    return JSON.stringify({ head: 0, sha256: hashOf(Buffer.alloc(0)), at: 0 })
  if (size === undefined) throw southboundUnavailable(`there is no log ${path}, or it cannot be read`)
  const from = Math.max(0, size - MOST_BYTES)
  const { octets } = await octetsOf(path, from, size - from)
  const at = from + octets.lastIndexOf(NEWLINE) + 1
  return JSON.stringify({ ...(await headOf(path, at)), at })
}

/** The files beside a log that rotation has made of it, oldest first; unpacked before packed. */
async function rotated(path: string): Promise<readonly string[]> {
  const name = basename(path)
  const names = await readdir(dirname(path)).catch(() => [])
  const files: { readonly file: string; readonly atMs: number }[] = []
  for (const each of names) {
    if (each === name || !each.startsWith(name)) continue
    const file = join(dirname(path), each)
    const found = await stat(file).catch(() => undefined)
    if (found?.isFile() === true) files.push({ file, atMs: found.mtimeMs })
  }
  files.sort((a, b) => a.atMs - b.atMs || Number(isPacked(a.file)) - Number(isPacked(b.file)))
  // While one is being packed it is there twice.
  const all = new Set(files.map(({ file }) => file))
  return files.map(({ file }) => file).filter((file) => !(isPacked(file) && all.has(file.slice(0, -3))))
}

async function indexOf(files: readonly string[], from: FilePosition): Promise<number> {
  for (let i = files.length - 1; i >= 0; i -= 1) if (await begins(files[i] ?? '', from)) return i
  return -1
}

/** Whether a file begins as the one of a position did, and is as long at least. */
async function begins(path: string, { at, head, sha256 }: FilePosition): Promise<boolean> {
  const size = await sizeOf(path)
  if (size === undefined || (!isPacked(path) && size < at)) return false
  const { octets } = await octetsOf(path, 0, head).catch(() => ({ octets: Buffer.alloc(0) }))
  return octets.length === head && hashOf(octets) === sha256
}

/** How a file begins, of which so many octets are there for sure. */
async function headOf(path: string, known: number): Promise<Omit<FilePosition, 'at'>> {
  const { octets } = await octetsOf(path, 0, Math.min(HEAD_BYTES, known))
  return { head: octets.length, sha256: hashOf(octets) }
}

function hashOf(octets: Buffer): string {
  return hash('sha256', octets).slice(0, 32)
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size
}

function isPacked(path: string): boolean {
  return path.endsWith('.gz')
}

/** Octets from a place on, `most` of them; of a packed file as it was. Throws `southbound_unavailable`. */
async function octetsOf(
  path: string,
  from: number,
  most: number,
): Promise<{ readonly octets: Buffer; readonly isAtEnd: boolean }> {
  try {
    return isPacked(path) ? await unpacked(path, from, most) : await plain(path, from, most)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'it cannot be read'
    throw southboundUnavailable(`the log ${path}: ${reason}`)
  }
}

async function plain(path: string, from: number, most: number) {
  await using file = await openPlain(path)
  const { size } = await file.stat()
  const length = Math.max(0, Math.min(most, size - from))
  const { bytesRead, buffer } = await file.read({ position: from, buffer: Buffer.alloc(length) })
  return { octets: buffer.subarray(0, bytesRead), isAtEnd: from + bytesRead >= size }
}

async function unpacked(path: string, from: number, most: number) {
  const parts: Buffer[] = []
  let seen = 0
  let taken = 0
  const source = createReadStream(path)
  const stream = source.pipe(createGunzip())
  source.on('error', (error) => stream.destroy(error))
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const part = chunk.subarray(Math.max(0, from - seen), Math.max(0, from - seen) + most - taken)
    seen += chunk.length
    taken += part.length
    parts.push(part)
    if (seen > from + most) {
      source.destroy()
      return { octets: Buffer.concat(parts), isAtEnd: false }
    }
  }
  return { octets: Buffer.concat(parts), isAtEnd: true }
}
