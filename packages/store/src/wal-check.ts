import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { storeInvalid } from '@steeple/contracts'
import {
  frameBytes,
  restoredHeader,
  WAL_HEADER_BYTES,
  type WalHeader,
  type WalSums,
  walFrame,
  walHeader,
} from './wal-frames.ts'

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
/** Frames that are read at once. */
const FRAMES_AT_ONCE = 64
/** As much of the first frame as holds its salts. */
const FRAME_START = 24

/**
 * Refuses a SQLite file whose WAL is damaged in the middle. SQLite itself would read up to the damage and drop every
 * commit behind it without a word.
 *
 * Throws `store_invalid`. Not seen: damage in the last commit (it looks as a torn write does) and in frames that were
 * copied into the database file already.
 */
export async function checkWal(path: string): Promise<void> {
  let lost = 0
  for (let look = 0; look < LOOKS; look++) {
    lost = await lostCommits(path)
    if (lost < COMMITS_THAT_PROVE_DAMAGE) return
    await pause(PAUSE_MS)
  }
  throw storeInvalid(
    `${path}-wal is damaged and at least ${lost} answered commits behind the damage would be lost; ` +
      'restore a backup, or move the -wal file away to go on without them',
  )
}

/** How many commits follow the first broken frame. */
async function lostCommits(path: string): Promise<number> {
  const file = await open(`${path}-wal`, 'r').catch(() => undefined)
  if (file === undefined) return 0
  try {
    const header = await headerOf(file, path)
    return header === undefined ? 0 : await commitsBehindDamage(file, header)
  } finally {
    await file.close()
  }
}

/** SQLite drops the whole file when its header is damaged; so that is looked behind. */
async function headerOf(file: FileHandle, path: string): Promise<WalHeader | undefined> {
  const header = walHeader(await bytesAt(file, 0, WAL_HEADER_BYTES))
  if (header?.isIntact === true) return header
  const database = await open(path, 'r').catch(() => undefined)
  if (database === undefined) return undefined
  try {
    const size = await bytesAt(database, PAGE_SIZE_AT, 2)
    const stated = size.length < 2 ? 0 : size.readUInt16BE(0)
    return restoredHeader(await bytesAt(file, WAL_HEADER_BYTES, FRAME_START), stated === 1 ? 65_536 : stated)
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
async function commitsBehindDamage(file: FileHandle, header: WalHeader): Promise<number> {
  let sums: WalSums = header.sums
  let isSound = header.isIntact
  let commits = 0
  for await (const bytes of framesOf(file, frameBytes(header))) {
    const frame = walFrame(header, bytes)
    if (isSound) {
      const after = frame.sumsAfter(sums)
      isSound = frame.salts === header.salts && after[0] === frame.stated[0] && after[1] === frame.stated[1]
      sums = after
      continue
    }
    if (frame.salts === header.salts && frame.isCommit) commits++
  }
  return commits
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
