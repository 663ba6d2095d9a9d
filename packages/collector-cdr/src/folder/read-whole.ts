import { closeSync, constants, fstat, fstatSync, open, read, readSync, type Stats } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
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
const fs = { open: promisify(open), stat: promisify(fstat) }

/** A subscriber of 16 TiB: one report for each 30 MB, 60 octets each. */
const MOST_BYTES = 32 * 1024 * 1024
/** The CHF cuts a file to nothing and writes it anew, which takes it some 10 µs; waits between readings, ms. */
const WAITS_MS = [0, 1, 2, 4, 8, 16, 32] as const
/** No link is followed, and no pipe waited for. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Tells a file that may have changed from one that has not. */
export function signatureOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`
}

export interface Manner {
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
export async function readWhole(path: string, manner: Manner, signal: AbortSignal): Promise<Reading> {
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
