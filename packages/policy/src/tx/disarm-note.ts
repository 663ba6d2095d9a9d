import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createTurns, DISARM_NOTE, jsonIn } from '@steeple/contracts'
import type { UnstoredDisarm } from './gate-memory.ts'

/**
 * A file that keeps a disarm over a restart until the store has it: without it the node would go on air again.
 *
 * Its room is taken beforehand and written in place, so that a full disk does not refuse it. Reads and writes take turns.
 */
export interface DisarmNote {
  /** Takes the room. Throws what the file system throws. */
  prepare(): Promise<void>
  /**
   * The disarm in it; undefined when there is none. Rejects when it cannot be known within a second whether there is one: with
   * a `code` when the system could not read it now.
   */
  read(): Promise<NotedDisarm | undefined>
  /** This, or what was written after it, is on the disk when it resolves. Rejects when that is not certain within a second. */
  write(disarm: UnstoredDisarm | undefined): Promise<void>
}

/** A disarm as somebody has noted it: without a time when that was beside the service, on another clock than its own. */
type NotedDisarm = Omit<UnstoredDisarm, 'atMs'> & { readonly atMs: number | undefined }

/** Room for one disarm, bytes: less than a block of the usual file systems. */
const ROOM = DISARM_NOTE.bytes
/** A name that fills more is cut. */
const LONGEST_NAME = 200
const BOUND_MS = 1_000
/** Neither follows a link, which would lead a write into another file, nor waits for the other end of a pipe. */
const NO_DETOUR = constants.O_NOFOLLOW | constants.O_NONBLOCK
const TO_READ = constants.O_RDONLY | NO_DETOUR
const TO_WRITE = constants.O_RDWR | NO_DETOUR
/** What a block without a disarm holds: spaces, or nothing where the machine went down while its room was taken. */
const BLANK = /^[\s\0]*$/

export function disarmNote(path: string): DisarmNote {
  const write = async (file: FileHandle, disarm: UnstoredDisarm | undefined): Promise<void> => {
    const text =
      disarm === undefined ? '' : JSON.stringify({ ...disarm, by: disarm.by.slice(0, LONGEST_NAME) })
    const bytes = Buffer.alloc(ROOM, ' ')
    bytes.write(text)
    await file.write(bytes, 0, ROOM, 0)
    await file.datasync()
  }
  const inTurn = createTurns()
  let latest: UnstoredDisarm | undefined
  /** How often something was to be written, and which of it was. */
  let wanted = 0
  let written = 0
  const writeLatest = async (): Promise<void> => {
    if (written === wanted) return
    const [number, disarm] = [wanted, latest]
    await using file = await openFile(path, TO_WRITE)
    await write(file, disarm)
    written = number
  }
  return {
    prepare: () =>
      inTurn(async () => {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        await using file = await openFile(path, TO_WRITE | constants.O_CREAT | constants.O_APPEND)
        if ((await file.stat()).size < ROOM) {
          await file.write(Buffer.alloc(ROOM, ' '))
          await file.datasync()
        }
      }),
    read: async () => {
      const text = await within(
        BOUND_MS,
        inTurn(() => textOf(path)),
        notAnswering,
      )
      return text === undefined || BLANK.test(text) ? undefined : disarmFrom(text, path)
    },
    write: async (disarm) => {
      latest = disarm
      wanted += 1
      await within(BOUND_MS, inTurn(writeLatest), notAnswering)
    },
  }
}

/** The outcome of a work, or `late` when it takes longer. */
export async function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const over = Promise.withResolvers<never>()
  const timer = setTimeout(() => over.reject(late()), ms)
  try {
    return await Promise.race([work, over.promise])
  } finally {
    clearTimeout(timer)
  }
}

function notAnswering(): Error {
  return Object.assign(new Error('the disk does not answer'), { code: 'ETIMEDOUT' })
}

async function openFile(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags, 0o600)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new Error(`${path} is no file; remove it`)
}

/** Undefined when there is no such file. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    await using file = await openFile(path, TO_READ)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(ROOM), 0, ROOM, 0)
    return buffer.toString('utf8', 0, bytesRead)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Throws for a text that is no disarm: there may have been one. */
function disarmFrom(text: string, path: string): NotedDisarm {
  const { intervalId, atMs, by } = Object(jsonIn(text)) as Partial<Record<keyof UnstoredDisarm, unknown>> // checked below
  const isInterval = intervalId === null || typeof intervalId === 'string'
  const isTime = atMs === undefined || (typeof atMs === 'number' && !Number.isNaN(new Date(atMs).getTime()))
  if (isInterval && isTime && typeof by === 'string') return { intervalId, atMs, by }
  throw new Error(`${path} is damaged`)
}
