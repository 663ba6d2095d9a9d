import {
  closeSync,
  constants,
  fstat,
  fstatSync,
  lstat,
  open,
  read,
  readdir,
  readSync,
  type Stats,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Clock, southboundUnavailable } from '@steeple/contracts'
import { isWhole } from '../format/cdr-file.ts'

/** A file as it was read, or why it was not. */
export type Reading =
  | {
      readonly state: 'whole'
      readonly bytes: Buffer
      readonly signature: string
      readonly writtenMs: number
    }
  | { readonly state: 'gone' | 'foreign' | 'torn' | 'denied'; readonly signature: string }

// Without promises of their own `node:fs` costs half as much, and files are many.
const fs = {
  list: promisify(readdir),
  lstat: promisify(lstat),
  open: promisify(open),
  stat: promisify(fstat),
}

/** A subscriber of 16 TiB: one report for each 30 MB, 60 octets each. */
const MOST_BYTES = 32 * 1024 * 1024
/** The CHF cuts a file to nothing and writes it anew, which takes it some 10 µs; waits between readings, ms. */
const WAITS_MS = [0, 1, 2, 4, 8, 16, 32] as const
/** No link is followed, and no pipe waited for. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Tells a file that may have changed from one that has not. */
function signatureOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

interface Manner {
  /** Waits for a file that is being written; else one look at it must do. */
  readonly isPatient: boolean
  /** A file that was last written before this is not being written, ms since the epoch: one reading will do. */
  readonly quietMs: number
  /** The file as it was looked at before; undefined where that is not known any more. */
  readonly looked?: Stats | undefined
}

/**
 * Reads a file while it may be rewritten: what two readings in a row give, and its header bears out. Never throws.
 */
async function readWhole(path: string, manner: Manner, signal: AbortSignal): Promise<Reading> {
  let file: number
  try {
    file = await fs.open(path, FLAGS)
  } catch (error) {
    return { state: stateOf(error), signature: '' }
  }
  try {
    return await readOpen(file, manner, signal)
  } catch {
    return { state: 'denied', signature: '' }
  } finally {
    // Nothing was written: there is nothing to wait for.
    closeSync(file)
  }
}

async function readOpen(
  file: number,
  { isPatient, quietMs, looked }: Manner,
  signal: AbortSignal,
): Promise<Reading> {
  // What was looked at last spares another look, as long as the file is the same one afterwards.
  const known = looked === undefined ? undefined : await readOnce(file, looked, quietMs)
  if (known?.state === 'whole') return known
  let signature = ''
  for (const waitMs of isPatient ? WAITS_MS : [0]) {
    if (waitMs > 0) await pause(waitMs, undefined, { signal }).catch(() => undefined)
    const reading = await readOnce(file, await fs.stat(file), quietMs)
    if (reading.state !== 'torn') return reading
    signature = reading.signature
  }
  return { state: 'torn', signature }
}

async function readOnce(file: number, stat: Stats, quietMs: number): Promise<Reading> {
  const signature = signatureOf(stat)
  if (!stat.isFile() || stat.size > MOST_BYTES) return { state: 'foreign', signature }
  const bytes = await bytesOf(file, stat.size)
  if (!isWhole(bytes)) return { state: 'torn', signature }
  // What was just read is in memory: to ask for it again, and what the file is by now, waits for no disk.
  const isStill = stat.mtimeMs < quietMs || isReadAgain(file, bytes, stat.size)
  return isStill && signatureOf(fstatSync(file)) === signature
    ? { state: 'whole', bytes, signature, writtenMs: stat.mtimeMs }
    : { state: 'torn', signature }
}

/** Whether a second reading gives the same. */
function isReadAgain(file: number, bytes: Buffer, size: number): boolean {
  const again = Buffer.allocUnsafe(size + 1)
  return bytes.equals(again.subarray(0, readSync(file, again, 0, again.length, 0)))
}

/** The file from its beginning; one octet more where it has grown meanwhile, so that it is not taken for whole. */
async function bytesOf(file: number, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(size + 1)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  read(file, buffer, 0, buffer.length, 0, (error, length) => {
    if (error === null) resolve(buffer.subarray(0, length))
    else reject(error)
  })
  return await promise
}

function stateOf(error: unknown): 'gone' | 'foreign' | 'denied' {
  const { code } = (error ?? {}) as { code?: unknown } // compared only
  if (code === 'ENOENT') return 'gone'
  // A link, a socket, a device without a driver.
  return code === 'ELOOP' || code === 'ENXIO' ? 'foreign' : 'denied'
}

/** What is in a directory of charging records besides what was read before. */
export interface Listing {
  /**
   * Files that may have changed since they were read, in groups to be read together; those that certainly have first, and
   * those that were torn last: however many there are, they keep nobody from being read.
   */
  readonly changed: readonly (readonly string[])[]
  /** Files that were there and are not any more. */
  readonly gone: readonly string[]
  /** Files of a CHF. */
  readonly count: number
  /** Other files that end as those of a CHF do: they are not read. */
  readonly others: number
}

/** The directory into which a CHF writes; nothing is ever written there. */
export interface CdrFolder {
  /** Throws `southbound_unavailable` when it cannot be listed. */
  list(signal: AbortSignal): Promise<Listing>
  /** Reads a file and remembers that it was. One that stays torn is waited for once, and few at a time. */
  read(name: string, signal: AbortSignal): Promise<Reading>
  /** Forgets what was read: everything has changed. */
  forget(): void
}

/** Both names that a CHF gives: of a SUPI's digest (from release 4.2.2 on), and of the SUPI. */
const NAME = /^(?:chf-[0-9a-f]{64}|imsi-[0-9]{6,15})[.]cdr$/
/** As many subscribers as one node has, twice over. */
const MOST_FILES = 200_000
/** Files looked at together, and read together while they are not larger than so many octets. */
const TOGETHER = 64
const TOGETHER_BYTES = 8 * 1024 * 1024
/** A file that was not written for so long is not being written, ms: two coarse ticks of any file system. */
const QUIET_MS = 4_000

/** A file as it was read. Until a second reading finds it as it was, it may have changed in the same tick of its clock. */
interface FileProgress {
  readonly signature: string
  readonly isSettled: boolean
}

/** Torn files that are waited for between two listings: a full disk tears them all. */
const MOST_WAITED = 16

/** Nothing has been read yet. */
export function cdrFolder(dir: string, clock: Pick<Clock, 'nowMs'>): CdrFolder {
  const seen = new Map<string, FileProgress>()
  const torn = new Set<string>()
  /** Of files that are to be read. */
  const looked = new Map<string, Stats>()
  let waited = 0
  return {
    list: async (signal) => {
      waited = 0
      looked.clear()
      const names = await namesIn(dir)
      signal.throwIfAborted()
      const files = names.filter((name) => NAME.test(name)).slice(0, MOST_FILES)
      const others = names.filter((name) => name.endsWith('.cdr')).length - files.length
      const changed = await changedOf(dir, files, { seen, torn, looked }, signal)
      const there = new Set(files)
      const gone = [...seen.keys()].filter((name) => !there.has(name))
      for (const name of gone) seen.delete(name)
      for (const name of torn) if (!there.has(name)) torn.delete(name)
      return { changed, gone, count: files.length, others }
    },
    read: async (name, signal) => {
      const isPatient = waited < MOST_WAITED && !torn.has(name)
      const quietMs = clock.nowMs() - QUIET_MS
      const reading = await readWhole(
        join(dir, name),
        { isPatient, quietMs, looked: looked.get(name) },
        signal,
      )
      looked.delete(name)
      const isSettled = seen.get(name)?.signature === reading.signature
      if (reading.state === 'whole') {
        seen.set(name, { signature: reading.signature, isSettled })
        torn.delete(name)
      } else if (reading.state === 'torn') {
        torn.add(name)
        waited += 1
      }
      return reading
    },
    forget: () => seen.clear(),
  }
}

interface Candidate {
  readonly name: string
  readonly size: number
}

interface Memory {
  readonly seen: ReadonlyMap<string, FileProgress>
  readonly torn: ReadonlySet<string>
  /** Is told of the files that are to be read. */
  readonly looked: Map<string, Stats>
}

async function changedOf(
  dir: string,
  files: readonly string[],
  memory: Memory,
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
  const lists = { fresh: [], unsettled: [], last: [], unchanged: [] } as Record<Class, Candidate[]>
  for (let at = 0; at < files.length; at += TOGETHER) {
    const together = files.slice(at, at + TOGETHER)
    const found = await Promise.all(together.map((name) => lookAt(join(dir, name))))
    signal.throwIfAborted()
    for (const [index, name] of together.entries()) {
      const stat = found[index]
      const one = classOf(memory, name, stat)
      lists[one].push({ name, size: stat?.size ?? 0 })
      if (one !== 'unchanged' && stat !== undefined) memory.looked.set(name, stat)
    }
  }
  return groupsOf([...lists.fresh, ...lists.unsettled, ...lists.last])
}

type Class = 'fresh' | 'unsettled' | 'last' | 'unchanged'

function classOf({ seen, torn }: Memory, name: string, stat: Stats | undefined): Class {
  if (torn.has(name)) return 'last'
  const before = seen.get(name)
  if (before === undefined || before.signature !== (stat === undefined ? '' : signatureOf(stat)))
    return 'fresh'
  return before.isSettled ? 'unchanged' : 'unsettled'
}

function groupsOf(candidates: readonly Candidate[]): readonly (readonly string[])[] {
  const groups: string[][] = []
  let [bytes, group]: [number, string[]] = [0, []]
  for (const { name, size } of candidates) {
    if (group.length === 0 || group.length === TOGETHER || bytes + size > TOGETHER_BYTES) {
      group = []
      bytes = 0
      groups.push(group)
    }
    group.push(name)
    bytes += size
  }
  return groups
}

async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    return await fs.lstat(path)
  } catch {
    return undefined
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; mount the directory into which the CHF writes (its /tmp) there',
  ENOTDIR: 'is no directory',
  EACCES: 'may not be read by this service',
}

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return await fs.list(dir)
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown } // a text or nothing
    const words = WORDS[String(code)] ?? `cannot be listed (${String(code)})`
    throw southboundUnavailable(`the directory of charging records ${dir} (core_b.cdr_dir) ${words}`)
  }
}
