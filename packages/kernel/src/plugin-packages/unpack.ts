import { mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { pluginFailed } from '@steeple/contracts'

/** A header or a piece of content in a tar archive; POSIX.1-2017, pax, "ustar Interchange Format". */
const BLOCK = 512
const SIZE_AT = 124
const SIZE_LENGTH = 12
const TYPE_AT = 156
const NAME_LENGTH = 100
const PREFIX_AT = 345
const PREFIX_LENGTH = 155
/** What npm and pnpm put before each name in a package. */
const ROOT = 'package/'
/** No plugin is larger; what is unpacks into the memory of this process. */
export const MOST_BYTES: number = 64 * 1024 * 1024
/** A plugin is one program, its manifest and a few texts. */
const MOST_FILES = 1000

/**
 * Unpacks a package (`.tgz`) into a temporary folder of this user, for as long as `work` takes. Regular files alone: links,
 * devices and names that lead out of the package are passed over.
 *
 * Throws `plugin_failed` (check) for what is no such package.
 */
export async function withUnpacked<T>(file: string, work: (dir: string) => Promise<T>): Promise<T> {
  const refuse = (reason: string, cause?: unknown): Error =>
    pluginFailed(basename(file), 'check', reason, { cause })
  const status = await stat(file).catch((cause: unknown) => {
    throw refuse('there is no such file', cause)
  })
  // A pipe would be waited for.
  if (!status.isFile()) throw refuse('it is no file')
  if (status.size > MOST_BYTES) throw refuse(`it is larger than ${MOST_BYTES} bytes`)
  return await withUnpackedBytes(basename(file), await readFile(file), work)
}

/**
 * As `withUnpacked`, for the octets of a package; `name` is what errors call it. One package at a time: each may come to
 * `MOST_BYTES` in memory, and a service is asked by many.
 */
export async function withUnpackedBytes<T>(
  name: string,
  bytes: Uint8Array,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  const turn = before.then(() => unpackedFor(name, bytes, work))
  before = turn.then(
    () => undefined,
    () => undefined,
  )
  return await turn
}

/** Ends with the package that was asked for last. */
let before: Promise<void> = Promise.resolve()

async function unpackedFor<T>(
  name: string,
  bytes: Uint8Array,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  const refuse = (reason: string, cause?: unknown): Error => pluginFailed(name, 'check', reason, { cause })
  const archive = await promisify(gunzip)(bytes, { maxOutputLength: MOST_BYTES }).catch((cause: unknown) => {
    throw refuse('it is no package as npm pack makes it: it cannot be unpacked', cause)
  })
  const files = filesOf(archive)
  if (files.size > MOST_FILES) throw refuse(`it has more than ${MOST_FILES} files`)
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'svc-plugin-')))
  try {
    await write(dir, files).catch((cause: unknown) => {
      throw refuse(
        'its files cannot be written: one stands where another needs a folder, or a name is too long',
        cause,
      )
    })
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function write(dir: string, files: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const [name, content] of files) {
    await mkdir(join(dir, dirname(name)), { recursive: true, mode: 0o700 })
    await writeFile(join(dir, name), content, { mode: 0o600 })
  }
}

/** The regular files of the package, by their names in it. */
function filesOf(archive: Buffer): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>()
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK)
    const size = Number.parseInt(text(header, SIZE_AT, SIZE_LENGTH).trim() || '0', 8)
    if (!Number.isSafeInteger(size) || size < 0) break
    const prefix = text(header, PREFIX_AT, PREFIX_LENGTH)
    const name = posix.normalize(posix.join(prefix, text(header, 0, NAME_LENGTH)))
    const isFile = header[TYPE_AT] === 0 || header[TYPE_AT] === '0'.charCodeAt(0)
    if (isFile && name.startsWith(ROOT))
      files.set(name.slice(ROOT.length), archive.subarray(at + BLOCK, at + BLOCK + size))
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
  }
  return files
}

/** A field of a header: up to its length or the first zero. */
function text(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end === -1 ? length : end)
}
