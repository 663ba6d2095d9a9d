import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { copyFile, type FileHandle, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { storeInvalid } from '@steeple/contracts'
import { openSqliteConnection } from './sqlite-binding.ts'
import { sqliteError } from './store-error.ts'

/** Beside the store: the number of the last commit that was answered. */
const NOTE = '-committed'
/** What versions before it left beside a store in use; that it is there proves nothing. */
const OLD_MARK = '-in-use'
/** Numbers go round: SQLite keeps one in 32 bits with a sign. */
const NUMBERS = 2 ** 31
const DIGITS = 10

/** Writes down which commit was the last, outside of the store and its WAL. */
export interface CommitNote {
  /**
   * Call when the commit is durable. Not synced: after `kill -9` it is there all the same, and after a power cut an older
   * number than the store's is no loss.
   */
  write(number: number): void
  close(): void
}

/** The note beside the store file at `path`, made with the first commit. */
export function commitNote(path: string): CommitNote {
  rmSync(path + OLD_MARK, { force: true })
  let file: number | undefined
  return {
    write: (number) => {
      try {
        file ??= openSync(path + NOTE, constants.O_WRONLY | constants.O_CREAT, 0o600)
        writeSync(file, noteText(number), 0)
      } catch {
        // A full disk keeps nobody from serving; what the next start compares with is older then.
      }
    },
    close: () => {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}

/** The number of the last commit that was answered; undefined where that is not known. */
function notedCommit(path: string): number | undefined {
  try {
    const text = readFileSync(path + NOTE, 'latin1')
    const number = Number(text.slice(0, DIGITS))
    // Written twice, so that a damaged one is not believed.
    return text === noteText(number) ? number : undefined
  } catch {
    return undefined
  }
}

/** Removes the note: whatever the store holds then is what it holds. */
function forgetCommit(path: string): void {
  rmSync(path + NOTE, { force: true })
}

/** The number of the commit behind `number`. */
export function commitAfter(number: number): number {
  return (number + 1) % NUMBERS
}

/** How many commits a store lacks that ends with `there`, when `noted` was answered. */
export function commitsMissing(there: number, noted: number | undefined): number {
  const missing = noted === undefined ? 0 : (noted - there + NUMBERS) % NUMBERS
  // Ahead of the note, by whatever the note missed.
  return missing < NUMBERS / 2 ? missing : 0
}

function noteText(number: number): string {
  const digits = String(number).padStart(DIGITS, '0')
  return `${digits} ${digits}\n`
}

/** The header of a WAL file, https://www.sqlite.org/fileformat2.html#walformat */
interface WalHeader {
  readonly pageBytes: number
  /** Both salts, as they stand in every frame of this generation of the file. */
  readonly salts: string
  readonly isLittleEndian: boolean
  readonly isIntact: boolean
  readonly sums: WalSums
}

/** The running checksum: each frame's continues the one before it. */
type WalSums = readonly [number, number]

interface WalFrame {
  readonly salts: string
  readonly isCommit: boolean
  /** Page of the database that it holds; the first is 1. */
  readonly page: number
  readonly content: Buffer
  /** The checksum that the frame states. */
  readonly stated: WalSums
  /** The checksum of the frame's content, continuing `before`. */
  sumsAfter(before: WalSums): WalSums
}

const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC_BIG_ENDIAN = 0x377f0683
const MAGIC_LITTLE_ENDIAN = 0x377f0682
const FEWEST_PAGE_BYTES = 512
const MOST_PAGE_BYTES = 65_536

/** The checksum algorithm of the WAL over whole 8-byte steps of `bytes`. */
function sumsOf(bytes: Buffer, from: number, to: number, isLittleEndian: boolean, before: WalSums): WalSums {
  let [s0, s1] = before
  for (let at = from; at < to; at += 8) {
    const x0 = isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)
    const x1 = isLittleEndian ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4)
    s0 = (s0 + x0 + s1) >>> 0
    s1 = (s1 + x1 + s0) >>> 0
  }
  return [s0, s1]
}

/**
 * The header that a damaged one must have been: the page size is the database's, the salts are those of the first
 * frame. Undefined when there is no frame.
 */
function restoredHeader(firstFrame: Buffer, pageBytes: number): WalHeader | undefined {
  if (!isPageSize(pageBytes) || firstFrame.length < FRAME_HEADER_BYTES) return undefined
  const salts = firstFrame.toString('hex', 8, 16)
  return { pageBytes, salts, isLittleEndian: false, isIntact: false, sums: [0, 0] }
}

/** The header, or undefined when the bytes are no WAL file (an empty one, for example). */
function walHeader(bytes: Buffer): WalHeader | undefined {
  if (bytes.length < WAL_HEADER_BYTES) return undefined
  const magic = bytes.readUInt32BE(0)
  const pageBytes = bytes.readUInt32BE(8)
  if ((magic !== MAGIC_BIG_ENDIAN && magic !== MAGIC_LITTLE_ENDIAN) || !isPageSize(pageBytes))
    return undefined
  const isLittleEndian = magic === MAGIC_LITTLE_ENDIAN
  const sums = sumsOf(bytes, 0, 24, isLittleEndian, [0, 0])
  const isIntact = sums[0] === bytes.readUInt32BE(24) && sums[1] === bytes.readUInt32BE(28)
  return { pageBytes, salts: bytes.toString('hex', 16, 24), isLittleEndian, isIntact, sums }
}

function isPageSize(bytes: number): boolean {
  return bytes >= FEWEST_PAGE_BYTES && bytes <= MOST_PAGE_BYTES && (bytes & (bytes - 1)) === 0
}

/** Bytes of one frame. */
function frameBytes(header: WalHeader): number {
  return FRAME_HEADER_BYTES + header.pageBytes
}

/** Reads the frame that fills `bytes`. */
function walFrame(header: WalHeader, bytes: Buffer): WalFrame {
  return {
    salts: bytes.toString('hex', 8, 16),
    isCommit: bytes.readUInt32BE(4) !== 0,
    page: bytes.readUInt32BE(0),
    content: bytes.subarray(FRAME_HEADER_BYTES),
    stated: [bytes.readUInt32BE(16), bytes.readUInt32BE(20)],
    sumsAfter: (before) => {
      const head = sumsOf(bytes, 0, 8, header.isLittleEndian, before)
      return sumsOf(bytes, FRAME_HEADER_BYTES, bytes.length, header.isLittleEndian, head)
    },
  }
}

/**
 * Every commit is an fsync of its own, so only the last one can be torn by a power cut. A broken frame with this many
 * whole commits behind it lies inside what was durable.
 */
const COMMITS_THAT_PROVE_DAMAGE = 2
/** Another process may be writing while we look: what is broken must stay broken. */
const LOOKS = 3
const PAUSE_MS = 20
/** Where the header of the database file states its page size; 1 stands for 65536. */
const PAGE_SIZE_AT = 16
/** Where it keeps the number of the last commit (`user_version`). */
const NUMBER_AT = 60
/** Frames that are read at once. */
const FRAMES_AT_ONCE = 64
/** As much of the first frame as holds its salts. */
const FRAME_START = 24

/**
 * Refuses a SQLite file that lacks what was answered: commits up to the number that was noted, or commits behind a damage of
 * its WAL. SQLite itself would read up to the damage, and do without a WAL that is missing, without a word. That a file
 * is missing proves nothing: whoever looks into the store takes the WAL into it and removes it.
 *
 * Throws `store_invalid`. Not seen: damage in the last commits before a power cut that took the note of them too.
 */
export async function checkAnswered(path: string): Promise<void> {
  let loss: string | undefined
  for (let look = 0; look < LOOKS; look++) {
    loss = await answeredLoss(path)
    if (loss === undefined) return
    await pause(PAUSE_MS)
  }
  throw storeInvalid(
    `${loss}; put what is missing beside ${path}, restore a backup, or go on without: svc store accept --data-dir ${dirname(path)}`,
  )
}

/** What of the answered commits `path` lacks, in words; undefined when nothing is known to be lost. */
async function answeredLoss(path: string): Promise<string | undefined> {
  // Before the store: a commit of another process stands there first.
  const noted = notedCommit(path)
  const { behindDamage, number } = await lookInto(path)
  if (behindDamage >= COMMITS_THAT_PROVE_DAMAGE)
    return `${path}-wal is damaged and at least ${behindDamage} answered commits behind the damage would be lost`
  const missing = number === undefined ? 0 : commitsMissing(number, noted)
  if (missing === 0) return undefined
  const name = basename(path)
  return (
    `${path} lacks the last ${missing} answered commit(s), up to number ${noted}: ` +
    `${name}-wal is missing or damaged, or ${name} is an older copy`
  )
}

/**
 * Takes the store file at `path`, which nobody else has open, for what it holds, although it lacks answered commits. Its WAL is kept as
 * `<path>-wal-<stamp>` first. `before` runs once the loss is known, and before anything changes. Gives what is lost, in words. Throws `store_invalid` when nothing is known to be lost.
 */
export async function acceptLoss(
  path: string,
  stamp: string,
  before: () => Promise<void> = async () => undefined,
): Promise<string> {
  const loss = await answeredLoss(path)
  if (loss === undefined) throw storeInvalid(`${path} lacks nothing that was answered; start the service`)
  await before()
  if (existsSync(`${path}-wal`)) await copyFile(`${path}-wal`, `${path}-wal-${stamp}`)
  try {
    const connection = openSqliteConnection(path, 'write')
    try {
      connection.pragma('wal_checkpoint(TRUNCATE)')
    } finally {
      connection.close()
    }
  } catch (error) {
    throw sqliteError(error)
  }
  forgetCommit(path)
  return loss
}

/** What the files of a store come to, as SQLite reads them. */
interface Look {
  /** Whole commits behind the first broken frame of the WAL. */
  readonly behindDamage: number
  /** Of the last commit that counts; undefined without a database. */
  readonly number: number | undefined
}

async function lookInto(path: string): Promise<Look> {
  const wal = await open(`${path}-wal`, 'r').catch(() => undefined)
  if (wal === undefined) return { behindDamage: 0, number: await numberInDatabase(path) }
  try {
    const header = await headerOf(wal, path)
    const walk = header === undefined ? { behindDamage: 0, number: undefined } : await walkOf(wal, header)
    return { ...walk, number: walk.number ?? (await numberInDatabase(path)) }
  } finally {
    await wal.close()
  }
}

/** SQLite drops the whole file when its header is damaged; so that is looked behind. */
async function headerOf(file: FileHandle, path: string): Promise<WalHeader | undefined> {
  const header = walHeader(await bytesAt(file, 0, WAL_HEADER_BYTES))
  if (header?.isIntact === true) return header
  const size = await bytesOfDatabase(path, PAGE_SIZE_AT, 2)
  const stated = size.length < 2 ? 0 : size.readUInt16BE(0)
  return restoredHeader(await bytesAt(file, WAL_HEADER_BYTES, FRAME_START), stated === 1 ? 65_536 : stated)
}

async function numberInDatabase(path: string): Promise<number | undefined> {
  const bytes = await bytesOfDatabase(path, NUMBER_AT, 4)
  return bytes.length < 4 ? undefined : bytes.readUInt32BE(0)
}

async function bytesOfDatabase(path: string, at: number, length: number): Promise<Buffer> {
  const database = await open(path, 'r').catch(() => undefined)
  if (database === undefined) return Buffer.alloc(0)
  try {
    return await bytesAt(database, at, length)
  } finally {
    await database.close()
  }
}

async function bytesAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  const { bytesRead } = await file.read(bytes, 0, length, at)
  return bytes.subarray(0, bytesRead)
}

/** Frames of older generations of the file carry other salts and end the walk's interest, not the walk. */
async function walkOf(file: FileHandle, header: WalHeader): Promise<Look> {
  let sums: WalSums = header.sums
  let isSound = header.isIntact
  let behindDamage = 0
  let number: number | undefined
  let coming: number | undefined
  for await (const bytes of framesOf(file, frameBytes(header))) {
    const frame = walFrame(header, bytes)
    if (isSound) {
      const after = frame.sumsAfter(sums)
      isSound = frame.salts === header.salts && after[0] === frame.stated[0] && after[1] === frame.stated[1]
      sums = after
      if (isSound && frame.page === 1) coming = frame.content.readUInt32BE(NUMBER_AT)
      if (isSound && frame.isCommit) number = coming
      continue
    }
    if (frame.salts === header.salts && frame.isCommit) behindDamage++
  }
  return { behindDamage, number }
}

/** The whole frames of a WAL, each until the next one is asked for. */
async function* framesOf(file: FileHandle, frameBytes: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.alloc(frameBytes * FRAMES_AT_ONCE)
  for (let at = WAL_HEADER_BYTES; ; ) {
    const { bytesRead } = await file.read(bytes, 0, bytes.length, at)
    const frames = Math.floor(bytesRead / frameBytes)
    if (frames === 0) return
    for (let n = 0; n < frames; n++) yield bytes.subarray(n * frameBytes, (n + 1) * frameBytes)
    at += frames * frameBytes
  }
}
